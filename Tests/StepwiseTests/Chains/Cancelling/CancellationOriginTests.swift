// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Each who may cancel a run, at each moment at which that may come.
@Suite(.timeLimit(.minutes(5)))
struct CancellationOriginTests {
  /// A chain whose first run stays in its middle step; any other, with another input, goes through.
  private func makeChain(
    _ log: Recorder<String>,
    middle: @escaping @Sendable () async throws -> Void
  ) -> Chain<Int, Int> {
    Chain("first", { (number: Int) in number })
      .then("booked", undo: { number in if number == 0 { log.record("undo") } }) { $0 }
      .then("middle") { number in
        if number == 0 { try await middle() }
        return number
      }
      .then("last") { number in
        if number == 0 { log.record("last") }
        return number
      }
      .recover { error in
        log.record("recover")
        throw error
      }
      .onError { _ in log.record("onError") }
      .finally { log.record($0.brief) }
  }

  private func expectReason(_ origin: CancellationOrigin, _ cancellable: Cancellable<Int>, suffix: String = "") async {
    #expect(await cancellable.result().brief == "failure CancellationError()")
    guard let run = await cancellable.run() else { return }
    let state = "cancelled \(origin.reason)\(suffix)"
    #expect(await run.outcome.brief == state)
    #expect(await briefEvents(of: run).last == state)
    #expect(!run.cancel(reason: "late"))
  }

  // G22
  @Test(arguments: CancellationOrigin.interrupting)
  func `A cancel interrupts the running step as task cancellation`(origin: CancellationOrigin) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let cancellable = origin.begin(makeChain(log) { try await turnstile.pass() })
    await turnstile.visitors(atLeast: 1)
    await cancellable.cancel()
    await expectReason(origin, cancellable)
    #expect(log.elements.prefix(2) == ["undo", "cancelled \(origin.reason)"])
  }

  // G24
  @Test(arguments: CancellationOrigin.interrupting)
  func `The cancelled step's error is the underlying error`(origin: CancellationOrigin) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let chain = makeChain(log) {
      do { try await turnstile.pass() } catch { throw Fault(3) }
    }
    let cancellable = origin.begin(chain)
    await turnstile.visitors(atLeast: 1)
    await cancellable.cancel()
    await expectReason(origin, cancellable, suffix: " \(Fault(3))")
    #expect(log.elements.prefix(2) == ["undo", "cancelled \(origin.reason) \(Fault(3))"])
  }

  // G23
  /// The step ignores the cancellation, which is checked before the next step.
  @Test(arguments: CancellationOrigin.allCases)
  func `Cancellation is checked before each step`(origin: CancellationOrigin) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let cancellable = origin.begin(makeChain(log) { await turnstile.passWhateverHappens() })
    await turnstile.visitors(atLeast: 1)
    await cancellable.cancel()
    turnstile.open()
    await expectReason(origin, cancellable)
    #expect(log.elements.prefix(2) == ["undo", "cancelled \(origin.reason)"])
  }

  // G27
  /// A cancel after success does not destroy the value; nor do modifiers that follow the last step.
  @Test(arguments: CancellationOrigin.allCases, [false, true])
  func `The value of the last step is never discarded`(origin: CancellationOrigin, modified: Bool) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    var chain = Chain { (number: Int) in number }.then("kept", undo: { _ in log.record("undo") }) { number in
      if number == 0 { await turnstile.passWhateverHappens() }
      return number + 5
    }
    if modified {
      let clock = ManualClock()
      chain = chain.recover { _ in 0 }
        .retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1))), clock: clock)
        .timeout(.seconds(1), clock: clock)
        .recover(from: Fault.self) { _ in 0 }
        .abandon(after: .seconds(1), clock: clock)
        .executor(globalConcurrentExecutor)
        .onError { _ in log.record("onError") }
    }
    let cancellable = origin.begin(chain.finally { log.record($0.brief) })
    await turnstile.visitors(atLeast: 1)
    await cancellable.cancel()
    turnstile.open()
    #expect(await cancellable.result().brief == "success 5")
    #expect(log.elements.first == "resolved 5")
    #expect(!log.elements.contains("undo"))
    guard let run = await cancellable.run() else { return }
    #expect(await briefEvents(of: run).last == "resolved 5")
  }

  // G23
  /// The same at every moment that the seeded executor finds; the outcome, the handlers and the undos always agree.
  @Test(arguments: CancellationOrigin.allCases)
  func `A cancel at any moment ends a run once and completely`(origin: CancellationOrigin) throws {
    var ends: Set<String> = []
    for seed in seeds(250) {
      let log = Recorder<String>()
      let result = try SeededExecutor(seed: seed).run {
        let chain = Chain { (number: Int) in
          await Task.yield()
          return number
        }
        .then("a", undo: { if $0 == 0 { log.record("undo a") } }) { number in
          if number == 0 { log.record("a") }
          await Task.yield()
          return number
        }
        .then("b", undo: { if $0 == 0 { log.record("undo b") } }) { number in
          await Task.yield()
          if number == 0 { log.record("b") }
          return number
        }
        .then { number in
          await Task.yield()
          if number == 1 { throw Fault(1) }
          return number
        }
        .onError { _ in log.record("another's") }
        .finally { state in
          if case .failed = state { return }
          log.record(state.brief)
        }
        let cancellable = origin.begin(chain)
        for _ in 0..<seed % 7 { await Task.yield() }
        await cancellable.cancel()
        let result = await cancellable.result()
        log.record(result.brief)
        return result
      }
      let own = log.elements.filter { $0 != "another's" }
      let cancelled = "cancelled \(origin.reason)"
      let end = result.brief
      let undos = own.filter { $0.hasPrefix("undo") }
      let done = own.filter { ["a", "b"].contains($0) }
      switch result {
      case .success:
        try #require(own == ["a", "b", "resolved 0", "success 0"], "seed \(seed)")
      case .failure:
        try #require(own == done + undos + [cancelled, end], "seed \(seed): \(own)")
        try #require(undos == done.reversed().map { "undo \($0)" }, "seed \(seed): \(own)")
      }
      ends.insert(end)
    }
    #expect(ends.contains("failure CancellationError()"))
  }
}
