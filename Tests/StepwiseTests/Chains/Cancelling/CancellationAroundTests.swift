// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What "a token around it" means, and when a chain's own token reaches which run.
@Suite(.timeLimit(.minutes(5)))
struct CancellationAroundTests {
  // G29
  @Test func `Runs in child tasks are interrupted immediately`() async {
    let token = CancellationToken()
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let chain = Chain { (number: Int) in try await turnstile.pass() }.finally { states.record($0.brief) }
    let task = Task {
      try await withCancellation(by: token) {
        async let left: Void = chain.run(1)
        await withTaskGroup { group in
          for number in 0..<3 { group.addTask { try? await chain.run(number) } }
        }
        try await left
      }
    }
    await turnstile.visitors(atLeast: 4)
    token.cancel(reason: "all of you")
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(states.elements == Array(repeating: "cancelled all of you", count: 4))
  }

  // G30
  @Test func `A run in an unstructured task stops at its next step`() async throws {
    let token = CancellationToken()
    let turnstile = Turnstile()
    let log = Recorder<String>()
    let chain = Chain { () in await turnstile.passWhateverHappens() }
      .then {
        log.record("next")
        return 1
      }
      .finally { log.record($0.brief) }
    let task = try await withCancellation(by: token) { Task { try await chain.run() } }
    await turnstile.visitors(atLeast: 1)
    token.cancel(reason: "stop")
    turnstile.open()
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(log.elements == ["cancelled stop"])
  }

  // G29
  @Test func `A started run is cancelled immediately even after the body`() async throws {
    let token = CancellationToken()
    let turnstile = Turnstile()
    let chain = Chain { () in try await turnstile.pass() }
    let run = try await withCancellation(by: token) { chain.start() }
    await turnstile.visitors(atLeast: 1)
    token.cancel(reason: "afterwards")
    #expect(await run.outcome.brief == "cancelled afterwards")
  }

  @Test(arguments: ["inner", "outer"])
  func `With two tokens around a run, the cancelled one gives the reason`(which: String) async {
    let tokens = ["inner": CancellationToken(), "outer": CancellationToken()]
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let chain = Chain { () in try await turnstile.pass() }.finally { states.record($0.brief) }
    let task = Task {
      guard let outer = tokens["outer"], let inner = tokens["inner"] else { return }
      try await withCancellation(by: outer) { try await withCancellation(by: inner) { try await chain.run() } }
    }
    await turnstile.visitors(atLeast: 1)
    tokens[which]?.cancel(reason: which)
    _ = await task.result
    #expect(states.elements == ["cancelled \(which)"])
  }

  @Test func `A run outside is unaffected`() async throws {
    let token = CancellationToken()
    let turnstile = Turnstile()
    let chain = Chain { () in
      await turnstile.passWhateverHappens()
      return 1
    }
    let outside = chain.start()
    await turnstile.visitors(atLeast: 1)
    #expect(try await withCancellation(by: token) { token.cancel() })
    turnstile.open()
    #expect(await outside.outcome.brief == "resolved 1")
  }

  @Test
  func `A plain run before the token's access stops at its next step`() async {
    let turnstile = Turnstile()
    let log = Recorder<String>()
    let chain = Chain { () in await turnstile.passWhateverHappens() }
      .then { log.record("next") }
      .finally { log.record($0.brief) }
    let task = Task { try await chain.run() }
    await turnstile.visitors(atLeast: 1)
    chain.cancellationToken.cancel(reason: "late token")
    turnstile.open()
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(log.elements == ["cancelled late token"])
  }

  @Test func `A started run is interrupted whenever its token was accessed`() async {
    let turnstile = Turnstile()
    let chain = Chain { () in try await turnstile.pass() }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    chain.cancellationToken.cancel(reason: "late token")
    #expect(await run.outcome.brief == "cancelled late token")
  }

  @Test func `A token is shared with derived chains and ends all for good`() async {
    let base = Chain { 1 }
    let derived = base.then { $0 + 1 }
    let other = base.recover { _ in 0 }.overlap(.serial)
    #expect(base.cancellationToken === derived.cancellationToken)
    #expect(other.cancellationToken === derived.cancellationToken)
    derived.cancellationToken.cancel(reason: "gone")
    for chain in [base, derived, other, base.then { $0 }] {
      #expect(await chain.start().outcome.brief == "cancelled gone")
      await #expect(throws: CancellationError.self) { try await chain.run() }
    }
    #expect(Chain { 1 }.cancellationToken !== base.cancellationToken)
  }

  @Test func `Cancelling the task that started a run leaves the run alone`() async throws {
    let turnstile = Turnstile()
    let chain = Chain { () in
      try await turnstile.pass()
      return 1
    }
    let starter = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return chain.start()
    }
    let run = await starter.value
    await turnstile.visitors(atLeast: 1)
    turnstile.open()
    #expect(try await run.value == 1)
  }

  /// A run inside a step receives the reason for which the enclosing run was cancelled.
  @Test func `A run inside a step of a cancelled run knows the reason`() async {
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let inner = Chain { () in try await turnstile.pass() }.finally { states.record("inner \($0.brief)") }
    let outer = Chain { () in try await inner.run() }.finally { states.record("outer \($0.brief)") }
    let run = outer.start()
    await turnstile.visitors(atLeast: 1)
    run.cancel(reason: "why")
    _ = await run.outcome
    #expect(states.elements == ["inner cancelled why", "outer cancelled why"])
  }
}
