// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The attempts of retried work: counts them, consults the policy, and waits between them.
package struct Attempts {
  private let policy: RetryPolicy
  private let clock: any Clock<Duration>
  private let elapsed: () -> Duration
  private var randomSource: any RandomNumberGenerator
  private var wait = Duration.zero

  /// The number of the current attempt, starting at 1.
  package private(set) var number = 1

  package init(_ policy: RetryPolicy, clock: any Clock<Duration>) {
    self.policy = policy
    self.clock = clock
    randomSource = policy.randomSource
    elapsed = Self.stopwatch(on: clock)
  }

  /// Returns whether to make another attempt after a failed one.
  package nonisolated(nonsending) mutating func allowAnother(
    after error: any Error,
    if isRetryable: nonisolated(nonsending) @Sendable (any Error) async -> Bool
  ) async -> Bool {
    guard number < policy.maxAttempts, await isRetryable(error) else { return false }
    wait =
      policy.delay?(error, number)?.clamped ?? policy.backoff.delay(afterFailures: number, using: &randomSource)
    guard let limit = policy.maxElapsed else { return true }
    return elapsed() + wait <= limit
  }

  /// A wait that returns whether it completed.
  package typealias Wait = @Sendable () async -> Bool

  /// Waits until the next attempt is due.
  ///
  /// - Parameter waiter: Creates a wait that more than the cancellation of the task can interrupt.
  /// - Returns: false when the wait was cancelled.
  package nonisolated(nonsending) mutating func waitForNext(
    by waiter: nonisolated(nonsending) (@escaping Wait) async -> Bool = { await $0() }
  ) async -> Bool {
    let (clock, wait) = (clock, wait)
    if wait > .zero, await !waiter({ (try? await clock.sleep(for: wait)) != nil }) { return false }
    number += 1
    return !Task.isCancelled
  }

  private static func stopwatch<C: Clock<Duration>>(on clock: C) -> () -> Duration {
    let start = clock.now
    return { start.duration(to: clock.now) }
  }
}
