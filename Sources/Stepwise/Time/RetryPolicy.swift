// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How often, and how soon, something that failed is tried again.
///
/// An error that knows when the next attempt makes sense overrules the backoff:
///
/// ```swift
/// let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1))) { error, attempt in
///   (error as? HTTPStatusError)?.retryAfter
/// }
/// ```
public struct RetryPolicy: Sendable {
  /// How many attempts there are, the first included; never less than one.
  public let maxAttempts: Int

  /// How long to wait between attempts.
  public let backoff: Backoff

  /// No further attempt begins later than this after the first one began; no limit when nil.
  public let maxElapsed: Duration?

  package var delay: (@Sendable (_ error: any Error, _ attempt: Int) -> Duration?)?
  let randomSource: any RandomNumberGenerator & Sendable

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - maxAttempts: How many attempts there are, the first included; less than one counts as one.
  ///   - backoff: How long to wait between attempts.
  ///   - maxElapsed: No further attempt begins later than this after the first one began; no limit when nil.
  ///   - randomSource: The random source of the backoff's jitter. Each run begins with a copy of it, so that every run
  ///     under a policy with a seeded generator has the same waits, which suits tests alone.
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
