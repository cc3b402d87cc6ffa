// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct ChainRetryTests {
  private let clock = ManualClock()
  private let log = Recorder<String>()

  /// Three steps of which the last fails until the given attempt.
  private func booking(until success: Int) -> Chain<Int, Int> {
    let attempts = Recorder<Int>()
    return Chain { [log] (number: Int) in
      log.record("begin \(number)")
      return number + 1
    }
    .then("room", undo: { [log] in log.record("undo room \($0)") }) { $0 + 1 }
    .then("seat", undo: { [log] in log.record("undo seat \($0)") }) { $0 + 1 }
    .then("pay") { number in
      attempts.record(number)
      if attempts.elements.count < success { throw Fault(attempts.elements.count) }
      return number
    }
  }

  @Test
  func `A failed attempt is undone before the next one starts`() async throws {
    let policy = RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1)))
    let chain = booking(until: 2).retry(policy, clock: clock).finally { [log] _ in log.record("finally") }
    let run = chain.start(0)
    await clock.sleepers(atLeast: 1)
    #expect(log.elements == ["begin 0", "undo seat 3", "undo room 2"], "undone before the wait")
    clock.advance(by: .seconds(1))
    #expect(try await run.value == 3)
    #expect(log.elements == ["begin 0", "undo seat 3", "undo room 2", "begin 0", "finally"])
  }

  // G61
  @Test
  func `The last error is thrown unchanged, and the last attempt is undone`() async {
    let chain = booking(until: .max).retry(RetryPolicy(maxAttempts: 2, backoff: .none), clock: clock)
      .onError { [log] in log.record("error \(($0 as? Fault)?.number ?? 0)") }
    await #expect(throws: Fault(2)) { try await chain.run(0) }
    let attempt = ["begin 0", "undo seat 3", "undo room 2"]
    #expect(log.elements == attempt + attempt + ["error 2"], "errors that were retried are not reported")
  }

  @Test func `Delays and the limit are those of the policy`() throws {
    let times = Recorder<Duration>()
    let policy = RetryPolicy(
      maxAttempts: 50,
      backoff: .exponential(from: .seconds(1), jitter: .none),
      maxElapsed: .seconds(20)
    )
    let chain = Chain { [clock] (number: Int) in times.record(clock.now.offset) }
      .then { () -> Int in throw Fault(times.elements.count) }
      .retry(policy, clock: clock)
    #expect(throws: Fault(5)) { try SeededExecutor(seed: 1, clock: clock).run { try await chain.run(1) } }
    #expect(times.elements == [0, 1, 3, 7, 15].map { .seconds($0) })
  }

  @Test func `Only errors that the predicate accepts are retried`() async {
    let policy = RetryPolicy(maxAttempts: 9, backoff: .none)
    let chain = booking(until: .max).retry(policy) { $0 as? Fault != Fault(3) }
    await #expect(throws: Fault(3)) { try await chain.run(0) }
  }

  // G62
  @Test func `Cancellation ends a backoff immediately`() async {
    let policy = RetryPolicy(maxAttempts: 9, backoff: .constant(.seconds(60)))
    let run = booking(until: .max).retry(policy, clock: clock).start(0)
    await clock.sleepers(atLeast: 1)
    #expect(run.cancel(reason: "left"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "left")
    #expect(clock.sleeperCount == 0 && clock.now.offset == .zero)
    #expect(log.elements == ["begin 0", "undo seat 3", "undo room 2"], "undone once")
  }

  @Test func `A cancelled attempt is not retried`() async {
    let chain = Chain { [log] (_: Int) -> Int in
      log.record("begin")
      withUnsafeCurrentTask { $0?.cancel() }
      throw Fault(1)
    }
    .retry(RetryPolicy(maxAttempts: 5, backoff: .none))
    await Task { _ = await #expect(throws: CancellationError.self) { try await chain.run(0) } }.value
    #expect(log.elements == ["begin"])
  }

  @Test
  func `Failed undos are reported at the end, even when a retry succeeded`() async throws {
    let failed = Recorder<Bool>()
    let chain = Chain { (number: Int) in number }
      .then("room", undo: { _ in throw Fault(9) }) { $0 }
      .then { number in
        failed.record(true)
        if failed.elements.count == 1 { throw Fault(1) }
        return number
      }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
      .onError { [log] in log.record("\($0)") }
    let run = chain.start(5)
    #expect(try await run.value == 5)
    #expect(log.elements == ["room could not be undone: Fault(number: 9)"])
    #expect(run.undoErrors.map(\.step) == ["room"])
  }

  @Test func `Events report further attempts`() async {
    let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1)))
    let chain = Chain("a") { (number: Int) in number }
      .then("b") { [log] (number: Int) -> Int in
        log.record("b")
        if log.elements.count == 1 { throw Fault(1) }
        return number
      }
      .retry(policy, clock: clock)
    let entered = Once<Void>()
    let run = Chain("wait") { (number: Int) in
      _ = await entered.value()
      return number
    }
    .appending(chain).start(1)
    let lines = Recorder<String>()
    let watcher = Task { for await event in run.events { lines.record(event.line) } }
    await lines.elements(atLeast: 2)
    entered.settle(())
    await clock.sleepers(atLeast: 1)
    await lines.wait(for: "b retrying 2")
    clock.advance(by: .seconds(1))
    await watcher.value
    let last = Array(lines.elements.suffix(2))
    #expect(last == ["b finished", "ended resolved"])
    #expect(lines.elements.contains("b retrying 2"))
  }

  @Test(arguments: ["predicate", "undo"])
  func `A cancellation before a further attempt is not recorded as a retry`(place: String) async {
    let (started, lines) = (Once<Run<Void>>(), Recorder<String>())
    let cancel: @Sendable () async -> Void = { await started.value()?.cancel() }
    let chain = Chain("a", undo: { _ in if place == "undo" { await cancel() } }) {}
      .then("b") { throw Fault(1) }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none)) { _ in
        if place == "predicate" { await cancel() }
        return true
      }
    let run = chain.start()
    started.settle(run)
    for await event in run.events { lines.record(event.line) }
    #expect(lines.elements.last?.hasPrefix("ended cancelled") == true)
    #expect(!lines.elements.contains { $0.contains("retrying") })
  }

  @Test
  func `A retry before another modifier covers only what is before it`() async throws {
    let counts = Recorder<String>()
    let chain = Chain { (number: Int) -> Int in
      counts.record("first")
      return number
    }
    .retry(RetryPolicy(maxAttempts: 5, backoff: .none))
    .then { number -> Int in
      counts.record("second")
      throw Fault(number)
    }
    await #expect(throws: Fault(4)) { try await chain.run(4) }
    #expect(counts.elements == ["first", "second"])
  }
}
