// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The classic bugs of retry and backoff, one by one.
@Suite(.timeLimit(.minutes(5)))
struct RetryPitfallTests {
  // G61
  @Test func `The number of attempts is exact`() async {
    for most in 1...20 {
      let calls = Recorder<Int>()
      let step = Step<Int, Int> { number in
        calls.record(number)
        throw Fault(calls.elements.count)
      }
      .retry(RetryPolicy(maxAttempts: most, backoff: .none))
      await #expect(throws: Fault(most)) { try await Chain(step).run(1) }
      #expect(calls.elements.count == most, "maxAttempts counts the first one")
    }
  }

  @Test(arguments: [0, -1, .min])
  func `Fewer than one attempt counts as one`(most: Int) async {
    let calls = Recorder<Int>()
    let step = Step<Int, Int> { number in
      calls.record(number)
      throw Fault(1)
    }
    .retry(RetryPolicy(maxAttempts: most, backoff: .constant(.seconds(1))))
    await #expect(throws: Fault(1)) { try await Chain(step).run(1) }
    #expect(calls.elements.count == 1)
    #expect(RetryPolicy(maxAttempts: most, backoff: .none).maxAttempts == 1)
  }

  /// The first wait follows the first failure, and none follows the last.
  @Test func `Each attempt has its own delay`() async throws {
    let clock = ManualClock()
    let times = Recorder<Duration>()
    let executor = SeededExecutor(seed: 1, clock: clock)
    let step = Step<Int, Int> { _ in
      times.record(clock.now.offset)
      throw Fault(1)
    }
    .retry(
      RetryPolicy(maxAttempts: 4, backoff: .exponential(from: .seconds(1), factor: 10, jitter: .none)),
      clock: clock
    )
    #expect(throws: Fault(1)) { try executor.run { try await Chain(step).run(1) } }
    #expect(times.elements == [0, 1, 11, 111].map { .seconds($0) })
    #expect(clock.now.offset == .seconds(111))
  }

  @Test func `The cap holds after jitter`() {
    let backoff = Backoff.exponential(from: .seconds(1), factor: 4, cap: .seconds(10))
    for seed in seeds(2_000) {
      var generator = SeededGenerator(seed: seed)
      for failures in 1...12 {
        #expect(backoff.delay(afterFailures: failures, using: &generator) <= .seconds(10), "seed \(seed)")
      }
    }
  }

  @Test(arguments: [100, 1_000, 1_000_000_000, Int.max])
  func `A large exponent does not overflow`(failures: Int) {
    var generator = SeededGenerator(seed: 1)
    for factor in [1, 1.000_000_000_001, 1.5, 2, 1e300, .greatestFiniteMagnitude, .infinity] {
      let capped = Backoff.exponential(from: .seconds(1), factor: factor, cap: .seconds(30), jitter: .none)
      let wait = capped.delay(afterFailures: failures, using: &generator)
      #expect(wait >= .seconds(1) && wait <= .seconds(30))
      let open = Backoff.exponential(from: .nanoseconds(1), factor: factor)
      #expect(open.delay(afterFailures: failures, using: &generator) >= .zero)
    }
    let longest = Backoff.exponential(from: .seconds(Int64.max), factor: 2, cap: .seconds(Int64.max), jitter: .none)
    #expect(longest.delay(afterFailures: failures, using: &generator) > .seconds(3_000_000_000))
  }

  /// Full jitter is even over the whole of zero to the wait: each tenth has a tenth, and the mean is the middle.
  @Test func `Full jitter covers the whole range`() {
    let backoff = Backoff.exponential(from: .seconds(8))
    var generator = SeededGenerator(seed: 42)
    var tenths = Array(repeating: 0, count: 10)
    var sum = Duration.zero
    for _ in 0..<20_000 {
      let wait = backoff.delay(afterFailures: 1, using: &generator)
      tenths[min(9, Int(wait / .milliseconds(800)))] += 1
      sum += wait
    }
    #expect(tenths.allSatisfy { (1_800...2_200).contains($0) }, "\(tenths)")
    #expect(abs(sum / .seconds(20_000) - 4) < 0.1)
  }

  @Test func `Jitter is computed for each wait`() {
    let backoff = Backoff.exponential(from: .seconds(8))
    var generator = SeededGenerator(seed: 7)
    let waits = (0..<1_000).map { _ in backoff.delay(afterFailures: 1, using: &generator) }
    #expect(Set(waits).count > 990, "computed per call")
    var same = SeededGenerator(seed: 7)
    #expect(backoff.delay(afterFailures: 1, using: &same) == waits[0], "of the generator's making alone")
  }

  @Test func `Runs that fail together retry at different instants`() async throws {
    let clock = ManualClock()
    let policy = RetryPolicy(maxAttempts: 2, backoff: .exponential(from: .seconds(1_000)))
    let deadlines = Recorder<Duration>()
    let step = Step<Int, Int> { number in
      deadlines.record(clock.now.offset)
      throw Fault(number)
    }
    .retry(policy, clock: clock)
    _ = try SeededExecutor(seed: 3, clock: clock).run {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<50 { group.addTask { _ = try? await Chain(step).run(number) } }
      }
    }
    #expect(Set(deadlines.elements.dropFirst(50)).count > 45)
  }

  // G62
  @Test func `A cancellation is never retried`() async {
    let calls = Recorder<Int>()
    let chain = Chain(
      Step<Int, Int> { number in
        calls.record(number)
        withUnsafeCurrentTask { $0?.cancel() }
        throw CancellationError()
      }
      .retry(RetryPolicy(maxAttempts: 5, backoff: .none))
    )
    await Task { _ = await #expect(throws: CancellationError.self) { try await chain.run(1) } }.value
    #expect(calls.elements.count == 1)
  }
}
