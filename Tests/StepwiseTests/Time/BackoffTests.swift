// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct BackoffTests {
  @Test func `Backoff none never waits`() {
    #expect(waits(.none, 5) == Array(repeating: .zero, count: 5))
  }

  @Test func `A constant backoff waits the same each time`() {
    #expect(waits(.constant(.seconds(2)), 3) == [.seconds(2), .seconds(2), .seconds(2)])
  }

  @Test func `An exponential backoff grows by its factor`() {
    let doubled = waits(.exponential(from: .milliseconds(100), jitter: .none), 5)
    #expect(doubled == [100, 200, 400, 800, 1_600].map { .milliseconds($0) })
    let tripled = waits(.exponential(from: .seconds(1), factor: 3, jitter: .none), 4)
    #expect(tripled == [1, 3, 9, 27].map { .seconds($0) })
  }

  @Test func `A backoff keeps its cap`() {
    let capped = waits(.exponential(from: .seconds(1), cap: .seconds(5), jitter: .none), 5)
    #expect(capped == [1, 2, 4, 5, 5].map { .seconds($0) })
    #expect(waits(.exponential(from: .seconds(9), cap: .seconds(5), jitter: .none), 2) == [.seconds(5), .seconds(5)])
  }

  @Test(arguments: [0.5, 0, -3, -.infinity, .nan])
  func `A factor below one counts as one`(factor: Double) {
    let waits = waits(.exponential(from: .seconds(2), factor: factor, jitter: .none), 4)
    #expect(waits == Array(repeating: .seconds(2), count: 4))
  }

  @Test(arguments: [
    Backoff.constant(.seconds(-1)), .exponential(from: .seconds(-1)),
    .exponential(from: .seconds(1), cap: .seconds(-1)),
    .exponential(from: .seconds(-1), cap: .seconds(-2), jitter: .none), .exponential(from: .zero, factor: .infinity),
  ])
  func `Negative durations count as zero`(backoff: Backoff) {
    #expect(waits(backoff, 50).allSatisfy { $0 == .zero })
  }

  @Test(arguments: [Int.min, -1, 0, 1])
  func `Fewer than one failure counts as one`(failures: Int) {
    var generator = SeededGenerator(seed: 0)
    let backoff = Backoff.exponential(from: .seconds(3), jitter: .none)
    #expect(backoff.delay(afterFailures: failures, using: &generator) == .seconds(3))
  }

  /// Every delay is between zero and the cap, and the longest one is that without jitter.
  @Test func `No wait is negative or longer than without jitter`() {
    for seed in seeds(5_000) {
      var generator = SeededGenerator(seed: seed)
      let start = Duration.milliseconds(Int.random(in: -10...100_000, using: &generator))
      let cap = Duration.milliseconds(Int.random(in: -10...1_000_000, using: &generator))
      let factor = Double.random(in: 0...10, using: &generator)
      let full = Backoff.exponential(from: start, factor: factor, cap: cap)
      let plain = Backoff.exponential(from: start, factor: factor, cap: cap, jitter: .none)
      var before = Duration.zero
      for failures in 1...20 {
        let longest = plain.delay(afterFailures: failures, using: &generator)
        let wait = full.delay(afterFailures: failures, using: &generator)
        #expect(wait >= .zero && wait <= longest && longest <= max(cap, .zero), "seed \(seed)")
        #expect(longest >= before, "seed \(seed): a wait got shorter")
        before = longest
      }
    }
  }

  /// The wait itself is a chance too: the top of the range must not be rounded up over the cap.
  @Test func `Full jitter never exceeds the cap by rounding`() {
    var highest = HighestGenerator()
    for odd in [1, 3, 7, 999_999_999_999_999_999] as [Int64] {
      let cap = Duration(secondsComponent: 3_000_000, attosecondsComponent: odd)
      let wait = Backoff.exponential(from: cap, cap: cap).delay(afterFailures: 1, using: &highest)
      #expect(wait <= cap)
    }
  }

  private struct HighestGenerator: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
  }

  private func waits(_ backoff: Backoff, _ count: Int) -> [Duration] {
    var generator = SeededGenerator(seed: 0)
    return (1...count).map { backoff.delay(afterFailures: $0, using: &generator) }
  }
}
