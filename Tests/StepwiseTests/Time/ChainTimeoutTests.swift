// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct ChainTimeoutTests {
  private let clock = ManualClock()
  private let log = Recorder<String>()

  private func simulated<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    try SeededExecutor(seed: 1, clock: clock).run(body)
  }

  /// Three steps of some seconds each; the first two can be undone.
  private func steps(_ seconds: Int...) -> Chain<Int, Int> {
    Chain { (number: Int) in number }
      .then("a", undo: { [log] _ in log.record("undo a") }, sleeping(seconds[0]))
      .then("b", undo: { [log] _ in log.record("undo b") }, sleeping(seconds[1]))
      .then("c", sleeping(seconds[2]))
  }

  private func sleeping(_ seconds: Int) -> @Sendable (Int) async throws -> Int {
    { [clock] number in
      try await clock.sleep(for: .seconds(seconds))
      return number
    }
  }

  // G65
  @Test(arguments: [("a", 1, 100, 1, 1), ("b", 6, 1, 100, 1), ("c", 9, 1, 1, 100)])
  func `A timeout names the running step`(name: String, limit: Int, first: Int, second: Int, third: Int) throws {
    let chain = steps(first, second, third).timeout(.seconds(limit), clock: clock)
    let error = #expect(throws: TimeoutError.self) { try simulated { try await chain.run(1) } }
    #expect(error?.step == name)
    #expect(error?.duration == .seconds(limit))
  }

  @Test func `A timeout names a step of a nested chain`() throws {
    let inner = Chain("deep") { [clock] (number: Int) -> Int in
      try await clock.sleep(for: .seconds(100))
      return number
    }
    let chain = Chain { (number: Int) in number }.appending(Chain { (number: Int) in number }.appending(inner))
      .timeout(.seconds(5), clock: clock)
    let error = #expect(throws: TimeoutError.self) { try simulated { try await chain.run(1) } }
    #expect(error?.step == "deep")
  }

  @Test func `Completed steps are undone before the timeout throws`() throws {
    let log = log
    let chain = steps(1, 1, 100).timeout(.seconds(5), clock: clock)
      .recover { error in
        log.record(error is TimeoutError ? "recover" : "?")
        return 9
      }
    #expect(try simulated { try await chain.run(1) } == 9)
    #expect(log.elements == ["undo b", "undo a", "recover"])
  }

  @Test func `A chain that ends in time is undone by a later failure`() throws {
    let chain = steps(1, 1, 1).timeout(.seconds(5), clock: clock).then { _ -> Int in throw Fault(1) }
    #expect(throws: Fault(1)) { try simulated { try await chain.run(1) } }
    #expect(log.elements == ["undo b", "undo a"])
    #expect(clock.sleeperCount == 0)
  }

  @Test func `Steps after a timeout are not covered`() throws {
    let chain = steps(1, 1, 1).timeout(.seconds(5), clock: clock).then(sleeping(100))
    #expect(try simulated { try await chain.run(3) } == 3)
    #expect(clock.now.offset == .seconds(103))
  }

  // G65
  @Test func `Nested timeouts keep their identity`() throws {
    let chain = steps(1, 100, 1).timeout(.seconds(5), clock: clock)
      .then(sleeping(1))
      .timeout(.seconds(8), clock: clock)
    let error = #expect(throws: TimeoutError.self) { try simulated { try await chain.run(1) } }
    #expect(error?.duration == .seconds(5))
    #expect(error?.step == "b")
  }

  @Test func `A cancel during a timeout undoes and gives the reason`() async {
    let chain = steps(1, 1, 100).timeout(.seconds(50), clock: clock)
    let run = chain.start(1)
    for _ in 0..<2 {
      await clock.sleepers(atLeast: 2)
      clock.advance(by: .seconds(1))
    }
    await clock.sleepers(atLeast: 2)
    #expect(run.cancel(reason: "left"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "left")
    #expect(log.elements == ["undo b", "undo a"])
    #expect(clock.sleeperCount == 0)
  }

  @Test func `A timed out attempt is retried from the first step`() throws {
    let policy = RetryPolicy(maxAttempts: 2, backoff: .none)
    let chain = steps(1, 1, 100).timeout(.seconds(5), clock: clock).retry(policy, clock: clock)
    #expect(throws: TimeoutError.self) { try simulated { try await chain.run(1) } }
    #expect(log.elements == ["undo b", "undo a", "undo b", "undo a"])
    #expect(clock.now.offset == .seconds(10))
  }
}
