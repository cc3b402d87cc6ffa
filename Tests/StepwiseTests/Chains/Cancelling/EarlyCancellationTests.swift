// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A run that was cancelled before it began runs its `finally` handlers and nothing else.
@Suite(.timeLimit(.minutes(5)))
struct EarlyCancellationTests {
  private func makeChain(_ log: Recorder<String>) -> Chain<Int, Int> {
    Chain(
      "first",
      { (number: Int) in
        log.record("first")
        return number
      }
    )
    .recover { _ in
      log.record("recover")
      return 0
    }
    .then("second", undo: { _ in log.record("undo") }) { $0 }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .none)) { _ in
      log.record("retry")
      return true
    }
    .onError { _ in log.record("onError") }
    .finally { log.record("one \($0.brief)") }
    .finally { log.record("two \($0.brief)") }
  }

  // G28
  @Test func `A task cancels a run before it begins`() async {
    let log = Recorder<String>()
    let chain = makeChain(log)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await chain.run(1)
    }
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(log.elements == ["two cancelled -", "one cancelled -"])
  }

  // The steps of such chains run in another task, which must not begin them before it is cancelled as well.
  @Test func `A cancelled task begins no step in another task`() async {
    let log = Recorder<String>()
    let chain = Chain { (number: Int) in
      log.record("begun")
      return number
    }
    let withToken = Chain { (number: Int) in
      log.record("begun")
      return number
    }
    _ = withToken.cancellationToken
    let minute = Duration.seconds(60)
    for chain in [withToken, chain.abandon(after: minute), chain.timeout(minute), chain.overlap(.serial)] {
      for _ in 0..<10_000 {
        let task = Task {
          withUnsafeCurrentTask { $0?.cancel() }
          return try await chain.run(1)
        }
        _ = await task.result
      }
    }
    #expect(log.elements.isEmpty)
  }

  @Test func `A chain's token cancels a run before it begins`() async {
    for started in [false, true] {
      let log = Recorder<String>()
      let chain = makeChain(log)
      chain.cancellationToken.cancel(reason: "over")
      await #expect(throws: CancellationError.self) {
        if started { try await chain.start(1).value } else { try await chain.run(1) }
      }
      #expect(log.elements == ["two cancelled over", "one cancelled over"])
    }
  }

  // G28
  @Test func `An outer token cancels a run before it begins`() async {
    for started in [false, true] {
      let log = Recorder<String>()
      let chain = makeChain(log)
      let token = CancellationToken()
      token.cancel(reason: "around")
      await #expect(throws: CancellationError.self) {
        try await withCancellation(by: token) {
          if started { try await chain.start(1).value } else { try await chain.run(1) }
        }
      }
      if started { await log.elements(atLeast: 2) }
      #expect(log.elements == ["two cancelled around", "one cancelled around"])
    }
  }

  @Test func `A handle cancels a run before its turn`() async {
    let log = Recorder<String>()
    let blocker = Turnstile()
    let chain = makeChain(log).overlap(.serial)
    let gated = Chain { (number: Int) in
      if number == 0 { await blocker.passWhateverHappens() }
      log.record("ran \(number)")
      return number
    }
    .finally { log.record($0.brief) }
    .overlap(.serial)
    let first = gated.start(0)
    let second = gated.start(1)
    #expect(second.cancel(reason: "not now"))
    #expect(await second.outcome.brief == "cancelled not now")
    #expect(log.elements.isEmpty, "it was never admitted, so no handler is called")
    #expect(await briefEvents(of: second) == ["started", "cancelled not now"])
    blocker.open()
    _ = await first.outcome
    _ = try? await chain.run(1)
  }

  @Test func `An overlap policy cancels a run before it begins`() async {
    let log = Recorder<String>()
    let blocker = Turnstile()
    let chain = Chain { (number: Int) in
      log.record("began \(number)")
      await blocker.passWhateverHappens()
      return number
    }
    .onError { _ in log.record("onError") }
    .finally { log.record($0.brief) }
    .overlap(.dropNew)
    let first = chain.start(0)
    await blocker.visitors(atLeast: 1)
    await #expect(throws: CancellationError.self) { try await chain.run(1) }
    #expect(log.elements == ["began 0"])
    blocker.open()
    #expect(await first.outcome.brief == "resolved 0")
  }

  /// A nested chain that is not reached has not begun: not even its handlers run.
  @Test(arguments: ["then", "zip", "race", "nested"])
  func `A nested chain of a cancelled run does not begin`(how: String) async {
    let log = Recorder<String>()
    let inner = Chain { (number: Int) in
      log.record("inner")
      return number
    }
    .finally { log.record("inner \($0.brief)") }
    let chain: Chain<Int, Int> =
      switch how {
      case "then": Chain { (number: Int) in number }.appending(inner)
      case "zip": Chain.zip(inner, inner).then { left, _ in left }
      case "race": Chain.race(inner, inner)
      default: Chain { (number: Int) in number }.appending(Chain { (number: Int) in number }.appending(inner))
      }
    let whole = chain.finally { log.record("outer \($0.brief)") }
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await whole.run(1)
    }
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(log.elements == ["outer cancelled -"])
  }

  @Test func `Steps after a cancelled step do not begin`() async {
    let log = Recorder<String>()
    let inner = Chain { (number: Int) in number }.finally { log.record("inner \($0.brief)") }
    let chain = Chain { (number: Int) in
      withUnsafeCurrentTask { $0?.cancel() }
      return number
    }
    .appending(inner)
    .finally { log.record("outer \($0.brief)") }
    let task = Task { try await chain.run(1) }
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(log.elements == ["outer cancelled -"])
  }
}
