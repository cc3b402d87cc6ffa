// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Which cancellation reaches what, and with which reason.
@Suite(.timeLimit(.minutes(5)))
struct CancellationReachTests {
  enum Place: CaseIterable, Sendable { case undo, onError, finally }

  /// Starts a run in a handler.
  private func start(
    _ inner: Chain<Void, Void>,
    in place: Place,
    of run: @escaping @Sendable (Chain<Void, Int>) async throws -> Int
  ) async -> Run<Void>? {
    let started = Watched<Run<Void>?>(nil)
    let start: @Sendable (Place) -> Void = { if $0 == place { started.mutate { $0 = inner.start() } } }
    let chain = Chain(undo: { _ in start(.undo) }) { 1 }
      .then { _ -> Int in throw Fault() }
      .onError { _ in start(.onError) }
      .finally { _ in start(.finally) }
    _ = try? await run(chain)
    return started.read { $0 }
  }

  // G31
  @Test(arguments: Place.allCases, [false, true])
  func `An outer token reaches a run that a handler starts`(place: Place, startsOuter: Bool) async {
    let token = CancellationToken()
    let inner = Chain { try await Turnstile().pass() }
    let run = await start(inner, in: place) { chain in
      try await withCancellation(by: token) {
        if startsOuter { try await chain.start().value } else { try await chain.run() }
      }
    }
    #expect(run?.isFinished == false)
    token.cancel(reason: "all of it")
    #expect(await run?.outcome.brief == "cancelled all of it")
  }

  @Test func `A run in a handler is shielded from the outer token`() async throws {
    let token = CancellationToken()
    let log = Recorder<String>()
    let inner = Chain { 1 }.finally { log.record($0.brief) }
    let chain = Chain { token.cancel() }.then {}.finally { _ in _ = try? await inner.run() }
    _ = try? await withCancellation(by: token) { try await chain.run() }
    #expect(log.elements == ["resolved 1"])
  }

  @Test
  func `A task that outlives a cancelled run has another reason`() async {
    let (mayGoOn, log) = (Turnstile(), Recorder<String>())
    let inner = Chain { try await Turnstile().pass() }.finally { log.record($0.brief) }
    let tasks = Recorder<Task<Void, Never>>()
    let run = Chain {
      tasks.record(
        Task {
          await mayGoOn.passWhateverHappens()
          _ = try? await inner.run()
        }
      )
      try await Turnstile().pass()
    }
    .start()
    let task = await tasks.elements(atLeast: 1)[0]
    run.cancel(reason: "the run's")
    _ = await run.outcome
    task.cancel()
    mayGoOn.open()
    await task.value
    #expect(log.elements == ["cancelled -"])
  }

  // G32
  @Test func `The first call of cancelRuns gives the reason`() async {
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let chain = Chain { await turnstile.passWhateverHappens() }.then {}.finally { states.record($0.brief) }
    let plain = Task { try await chain.run() }
    await turnstile.visitors(atLeast: 1)
    chain.cancelRuns(reason: "first")
    let later = Task { try await chain.run() }
    await turnstile.visitors(atLeast: 2)
    chain.cancelRuns(reason: "second")
    chain.cancelRuns(reason: "third")
    turnstile.open()
    _ = await (plain.result, later.result)
    #expect(states.elements.sorted() == ["cancelled first", "cancelled second"])
  }

  enum Nesting: CaseIterable, Sendable { case alone, nested, zipped }

  /// A chain that fails, waits on a clock, and is tried again; whose runs are the ones to cancel.
  private func retrying(_ nesting: Nesting, _ log: Recorder<String>, _ clock: ManualClock) -> Chain<Void, Int> {
    let retrying = Chain { () -> Int in
      log.record("attempt")
      throw Fault()
    }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(60))), clock: clock)
    let chain =
      switch nesting {
      case .alone: retrying
      case .nested: Chain { () in }.appending(retrying)
      case .zipped: Chain<Void, (Int, Int)>.zip(retrying, Chain { 1 }).then { $0.0 }
      }
    return chain.finally { log.record($0.brief) }
  }

  @Test(arguments: Nesting.allCases)
  func `cancelRuns ends the backoff of a plain run`(nesting: Nesting) async {
    let (log, clock) = (Recorder<String>(), ManualClock())
    let chain = retrying(nesting, log, clock)
    let plain = Task { try await chain.run() }
    await clock.sleepers(atLeast: 1)
    chain.cancelRuns(reason: "enough")
    #expect(await plain.result.brief == "failure CancellationError()")
    #expect(log.elements == ["attempt", "cancelled enough \(Fault())"])
  }

  @Test(arguments: Nesting.allCases)
  func `A token that is accessed during a backoff ends it`(nesting: Nesting) async {
    let (log, clock) = (Recorder<String>(), ManualClock())
    let chain = retrying(nesting, log, clock)
    let plain = Task { try await chain.run() }
    await clock.sleepers(atLeast: 1)
    chain.cancellationToken.cancel(reason: "enough")
    #expect(await plain.result.brief == "failure CancellationError()")
    #expect(log.elements == ["attempt", "cancelled enough \(Fault())"])
  }
}
