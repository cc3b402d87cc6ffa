// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How often, and how soon, something that failed is tried again.
public struct RetryPolicy: Sendable {
  /// How many attempts there are, the first included; never less than one.
  public let maxAttempts: Int

  /// How long to wait between attempts.
  public let backoff: Backoff

  /// No further attempt begins later than this after the first one began; no limit when nil.
  public let maxElapsed: Duration?

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - maxAttempts: How many attempts there are, the first included; less than one counts as one.
  ///   - backoff: How long to wait between attempts.
  ///   - maxElapsed: No further attempt begins later than this after the first one began; no limit when nil.
  public init(maxAttempts: Int, backoff: Backoff, maxElapsed: Duration? = nil) {
    self.maxAttempts = max(1, maxAttempts)
    self.backoff = backoff
    self.maxElapsed = maxElapsed
  }
}
