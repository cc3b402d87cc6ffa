// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct RetryDelayTests {
  private struct Busy: Error {
    let delay: Duration?
  }

  private static let backoff = Backoff.exponential(from: .seconds(8), jitter: .full)

  /// The waits of a chain whose attempts fail with these errors.
  private func waits(_ policy: RetryPolicy, errors: [Busy], asStep: Bool = false) throws -> [Duration] {
    let (clock, times) = (ManualClock(), Recorder<Duration>())
    let attempt: @Sendable () throws -> Int = {
      times.record(clock.now.offset)
      throw errors[times.elements.count - 1]
    }
    let step = Step { (_: Int) in try attempt() }
    let chain = asStep ? Chain(step.retry(policy, clock: clock)) : Chain(step).retry(policy, clock: clock)
    _ = try? SeededExecutor(seed: 1, clock: clock).run { try await chain.run(1) }
    return zip(times.elements, times.elements.dropFirst()).map { $1 - $0 }
  }

  // G63
  @Test(arguments: [true, false])
  func `The delay is the error's if it has one, else the backoff's`(asStep: Bool) throws {
    let attempts = Recorder<Int>()
    let policy = RetryPolicy(maxAttempts: 4, backoff: .constant(.seconds(1))) { error, attempt in
      attempts.record(attempt)
      return (error as? Busy)?.delay
    }
    let errors = [Busy(delay: .seconds(7)), Busy(delay: nil), Busy(delay: .zero), Busy(delay: .seconds(9))]
    #expect(try waits(policy, errors: errors, asStep: asStep) == [.seconds(7), .seconds(1), .zero])
    #expect(attempts.elements == [1, 2, 3], "not called when no attempt follows")
  }

  // G64
  @Test
  func `A delay of the error is limited by maxElapsed, and never negative`() throws {
    let policy = RetryPolicy(maxAttempts: 9, backoff: .none, maxElapsed: .seconds(10)) { error, _ in
      (error as? Busy)?.delay
    }
    let errors = [Busy(delay: .seconds(-3)), Busy(delay: .seconds(10)), Busy(delay: .seconds(1))]
    #expect(try waits(policy, errors: errors) == [.zero, .seconds(10)])
  }

  // G63
  @Test(arguments: [true, false])
  func `Each run draws its jitter from a copy of the random source`(asStep: Bool) throws {
    let policy = RetryPolicy(maxAttempts: 4, backoff: Self.backoff, randomSource: SeededGenerator(seed: 7))
    var generator = SeededGenerator(seed: 7)
    let expected = (1...3).map { Self.backoff.delay(afterFailures: $0, using: &generator) }
    let errors = Array(repeating: Busy(delay: nil), count: 4)
    #expect(try waits(policy, errors: errors, asStep: asStep) == expected)
    #expect(try waits(policy, errors: errors, asStep: asStep) == expected)
    #expect(Set(expected).count == 3)
  }
}
