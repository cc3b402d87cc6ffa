// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct StepTimeoutTests {
  private let clock = ManualClock()

  /// Sleeps and responds to cancellation.
  private func sleeping(_ seconds: Int, _ name: String = "slow") -> Step<Int, Int> {
    Step(name) { [clock] number in
      try await clock.sleep(for: .seconds(seconds))
      return number
    }
  }

  private func simulated<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
    try SeededExecutor(seed: 1, clock: clock).run(body)
  }

  @Test func `A timeout names its step`() throws {
    let chain = Chain { (number: Int) in number }.appending(sleeping(100).timeout(.seconds(5), clock: clock))
    let error = #expect(throws: TimeoutError.self) { try simulated { try await chain.run(1) } }
    #expect(error?.step == "slow")
    #expect(error?.duration == .seconds(5))
    #expect(error?.underlyingError == nil)
    #expect(clock.now.offset == .seconds(5))
    #expect(clock.sleeperCount == 0)
  }

  @Test func `A step without a name is numbered`() throws {
    let step = Step<Int, Int> { [clock] number in
      try await clock.sleep(for: .seconds(100))
      return number
    }
    let chain = Chain { (number: Int) in number }.appending(step.timeout(.seconds(5), clock: clock))
    let error = #expect(throws: TimeoutError.self) { try simulated { try await chain.run(1) } }
    #expect(error?.step == "step 1")
  }

  @Test func `A step that ends in time leaves no timer behind`() throws {
    let chain = Chain(sleeping(3).timeout(.seconds(5), clock: clock))
    #expect(try simulated { try await chain.run(7) } == 7)
    #expect(clock.now.offset == .seconds(3))
    #expect(clock.sleeperCount == 0)
  }

  // G65
  @Test func `A timeout waits for a body that ignores cancellation`() throws {
    let clock = clock
    let step = Step<Int, Int>("stubborn") { _ in
      await shielded { try? await clock.sleep(for: .seconds(50)) }
      throw CancellationError()
    }
    .timeout(.seconds(5), clock: clock)
    let ended = try simulated {
      await #expect(throws: TimeoutError.self) { try await Chain(step).run(1) }
      return clock.now.offset
    }
    #expect(ended == .seconds(50))
  }

  // G66
  @Test func `A value that is returned after the limit wins`() throws {
    let clock = clock
    let step = Step<Int, Int> { number in
      await shielded { try? await clock.sleep(for: .seconds(50)) }
      return number
    }
    #expect(try simulated { try await Chain(step.timeout(.seconds(5), clock: clock)).run(7) } == 7)
  }

  @Test func `The step's error at the time limit is the underlying error`() throws {
    let clock = clock
    let step = Step<Int, Int> { _ in
      try? await clock.sleep(for: .seconds(50))
      throw Fault(3)
    }
    .timeout(.seconds(5), clock: clock)
    let error = #expect(throws: TimeoutError.self) { try simulated { try await Chain(step).run(1) } }
    #expect(error?.underlyingError as? Fault == Fault(3))
    #expect(error?.description.contains("Fault(number: 3)") == true)
  }

  @Test func `An error in time is thrown as it is`() async {
    let step = Step<Int, Int> { _ in throw Fault(2) }.timeout(.seconds(5), clock: clock)
    await #expect(throws: Fault(2)) { try await Chain(step).run(1) }
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: [(3, 5), (5, 3)])
  func `The timeout is decided before its body is cancelled`(inner: Int, outer: Int) throws {
    let step = sleeping(100).timeout(.seconds(inner), clock: clock).timeout(.seconds(outer), clock: clock)
    let error = #expect(throws: TimeoutError.self) { try simulated { try await Chain(step).run(1) } }
    #expect(error?.duration == .seconds(min(inner, outer)))
  }

  @Test func `An inner timeout is not mistaken for the outer one`() throws {
    let clock = clock
    let chain = Chain<Int, Int>("inner") { _ in
      try await clock.sleep(for: .seconds(100))
      return 1
    }
    .timeout(.seconds(3), clock: clock)
    .recover { error in ((error as? TimeoutError)?.duration == .seconds(3)) ? 33 : 0 }
    .timeout(.seconds(5), clock: clock)
    #expect(try simulated { try await chain.run(1) } == 33)
    #expect(clock.now.offset == .seconds(3))
  }

  @Test func `A timeout is an error that can be retried`() throws {
    let policy = RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1)))
    let step = sleeping(100).timeout(.seconds(5), clock: clock).retry(policy, clock: clock)
    #expect(throws: TimeoutError.self) { try simulated { try await Chain(step).run(1) } }
    #expect(clock.now.offset == .seconds(17))
  }

  @Test func `A timeout around a retry ends it`() throws {
    let policy = RetryPolicy(maxAttempts: 100, backoff: .constant(.seconds(10)))
    let step = Step<Int, Int>("flaky") { _ in throw Fault(1) }
      .retry(policy, clock: clock)
      .timeout(.seconds(25), clock: clock)
    let error = #expect(throws: TimeoutError.self) { try simulated { try await Chain(step).run(1) } }
    #expect(error?.underlyingError as? Fault == Fault(1))
    #expect(clock.now.offset == .seconds(25))
  }

  @Test func `A cancel during a timeout is a cancel`() async {
    let run = Chain(sleeping(100).timeout(.seconds(5), clock: clock)).start(1)
    await clock.sleepers(atLeast: 2)
    #expect(run.cancel(reason: "left"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "left")
    #expect(cancellation.underlyingError == nil)
    #expect(clock.sleeperCount == 0)
  }

  /// The task of the body may begin only after the cancellation.
  @Test func `A body does not begin after cancel has returned`() async {
    let late = Tally()
    await forEachSeed { generator in
      var generator = generator
      let begun = Tally()
      let step = Step<Int, Int>("work") { number in
        _ = begun.increment()
        return number
      }
      let run = Chain(step.timeout(.seconds(60))).start(1)
      for _ in 0..<Int.random(in: 0..<8, using: &generator) { await Task.yield() }
      let before = begun.total
      let isCancelled = run.cancel()
      _ = await run.outcome
      if isCancelled, before == 0 { _ = late.increment() }
      try require(!isCancelled || begun.total == before, "the body began after the cancel")
    }
    #expect(late.total > 0)
  }
}
