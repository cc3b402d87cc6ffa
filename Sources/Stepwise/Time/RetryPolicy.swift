// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A policy that determines how often, and after what delay, failed work is retried.
///
/// You pass it to `retry` of a chain or a step. To use a delay that the error provides, pass a closure:
///
/// ```swift
/// let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1))) { error, attempt in
///   (error as? HTTPStatusError)?.retryAfter
/// }
/// ```
public struct RetryPolicy: Sendable {
  package let maxAttempts: Int
  package let backoff: Backoff
  package let maxElapsed: Duration?
  package var delay: (@Sendable (_ error: any Error, _ attempt: Int) -> Duration?)?
  let randomSource: any RandomNumberGenerator & Sendable

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - maxAttempts: How many attempts there are, the first included; less than one counts as one.
  ///   - backoff: How long to wait between attempts.
  ///   - maxElapsed: The maximum time from the start of the first attempt to that of the last; `nil` for no limit.
  ///   - randomSource: The random source of the backoff's jitter. Each run uses its own copy. Pass a seeded generator
  ///     only in tests.
  ///   - delay: Returns how long to wait after an error, without jitter, or nil for the backoff. It receives the number
  ///     of the attempt that failed, from 1, and is not called when no attempt follows.
  public init(
    maxAttempts: Int,
    backoff: Backoff,
    maxElapsed: Duration? = nil,
    randomSource: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
    delay: (@Sendable (_ error: any Error, _ attempt: Int) -> Duration?)? = nil
  ) {
    self.maxAttempts = max(1, maxAttempts)
    self.backoff = backoff
    self.maxElapsed = maxElapsed
    self.randomSource = randomSource
    self.delay = delay
  }
}

/// The delay before the next attempt.
///
/// Use `exponential` for a server that many clients share, so they do not all return at the same moment.
public struct Backoff: Sendable {
  private let start: Duration
  private let factor: Double
  private let cap: Duration?
  private let jitter: Jitter

  /// No delay.
  public static let none = constant(.zero)

  /// The same delay before each further attempt.
  public static func constant(_ duration: Duration) -> Backoff { exponential(from: duration, factor: 1, jitter: .none) }

  /// A delay that grows by a factor with each attempt.
  ///
  /// Full jitter, a random delay between zero and the computed one, caused the least total work in "Exponential Backoff
  /// And Jitter" (M. Brooker, AWS Architecture Blog, 2015).
  ///
  /// - Parameters:
  ///   - start: The delay before the second attempt.
  ///   - factor: The factor between successive delays; at least 1.
  ///   - cap: The longest delay; unlimited when nil.
  ///   - jitter: How to randomize the delay; without it, many clients retry at the same instant.
  /// - Returns: The backoff.
  public static func exponential(
    from start: Duration,
    factor: Double = 2,
    cap: Duration? = nil,
    jitter: Jitter = .full
  ) -> Backoff {
    Backoff(start: start, factor: max(1, factor), cap: cap, jitter: jitter)
  }

  /// How to randomize a delay.
  public struct Jitter: Sendable {
    fileprivate let isFull: Bool

    /// No randomization.
    public static let none = Jitter(isFull: false)

    /// A uniformly random delay between zero and the computed one.
    public static let full = Jitter(isFull: true)
  }

  /// Returns the delay after a number of failed attempts, from 1; jitter is drawn at each call.
  package func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    // Multiplies without overflowing `Duration`.
    let ceiling = (cap ?? .century).clamped
    var wait = min(start.clamped, ceiling)
    // Exponentiation by squaring takes few rounds for any number of attempts.
    var power = factor
    var remaining = factor > 1 && wait > .zero ? max(1, failures) - 1 : 0
    while remaining > 0 {
      if !remaining.isMultiple(of: 2) { wait = wait > ceiling / power ? ceiling : wait * power }
      power *= power
      remaining /= 2
    }
    wait = min(wait, ceiling)
    return jitter.isFull ? min(wait, wait * Double.random(in: 0...1, using: &generator)) : wait
  }
}

extension Duration {
  /// The longest wait that this package uses.
  package static var century: Duration { .seconds(3_155_760_000) }

  /// The duration, clamped to between zero and a century.
  ///
  /// Every clock can add that to its time; longer ones may trap.
  package var clamped: Duration { min(max(self, .zero), .century) }

  /// The sum, or what is nearest to it where it overflows.
  package func saturatedSum(_ other: Duration) -> Duration {
    let (sum, overflows) = attoseconds.addingReportingOverflow(other.attoseconds)
    return Duration(attoseconds: overflows ? other < .zero ? .min : .max : sum)
  }
}

/// The attempts of retried work: counts them, consults the policy, and waits between them.
package struct Attempts {
  private let policy: RetryPolicy
  private let elapsed: () -> Duration
  private var randomSource: any RandomNumberGenerator
  private var wait = Duration.zero
  /// Waits for the next attempt.
  var sleep: @Sendable (Duration) async throws -> Void
  /// Returns how much time has passed, in earlier processes too, from that in this one and the number of attempts.
  var totalElapsed: @Sendable (_ elapsed: Duration, _ attempts: Int) async -> Duration = { elapsed, _ in elapsed }

  /// The number of the current attempt, starting at 1.
  package private(set) var number: Int

  package init(
    _ policy: RetryPolicy,
    clock: any Clock<Duration>
  ) {
    number = 1
    self.policy = policy
    sleep = { try await clock.sleep(for: $0) }
    randomSource = policy.randomSource
    elapsed = stopwatch(on: clock)
  }

  /// Returns whether to make another attempt after a failed one.
  package mutating func allowAnother(
    after error: any Error,
    if isRetryable: (any Error) async -> Bool
  ) async -> Bool {
    guard number < policy.maxAttempts, await isRetryable(error) else { return false }
    wait =
      policy.delay?(error, number)?.clamped ?? policy.backoff.delay(afterFailures: number, using: &randomSource)
    guard let limit = policy.maxElapsed else { return true }
    return await totalElapsed(elapsed().clamped + wait, number) <= limit
  }

  /// A wait that returns whether it completed.
  package typealias Wait = @concurrent @Sendable () async -> Bool

  /// Waits until the next attempt is due, in a way that the waiter may interrupt; returns false when it was cancelled.
  package mutating func waitForNext(
    by waiter: (@escaping Wait) async -> Bool = { await $0() }
  ) async -> Bool {
    let (sleep, wait) = (sleep, wait)
    if wait > .zero, await !waiter({ (try? await sleep(wait)) != nil }) { return false }
    number += 1
    return !Task.isCancelled
  }
}

/// Returns a closure that returns the time since now.
package func stopwatch<C: Clock<Duration>>(on clock: C) -> @Sendable () -> Duration {
  let start = clock.now
  return { start.duration(to: clock.now) }
}
