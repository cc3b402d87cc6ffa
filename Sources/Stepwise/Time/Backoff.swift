// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How long to wait before the next attempt.
public struct Backoff: Sendable {
  private enum Kind {
    case none
    case constant(Duration)
    case exponential(from: Duration, factor: Double, cap: Duration?, jitter: Jitter)
  }

  private let kind: Kind

  /// No wait.
  public static let none = Backoff(kind: .none)

  /// The same wait before each further attempt.
  public static func constant(_ duration: Duration) -> Backoff { Backoff(kind: .constant(duration)) }

  /// A wait that grows by a factor from one attempt to the next.
  ///
  /// Full jitter is what "Exponential Backoff And Jitter" (M. Brooker, AWS Architecture Blog, 2015) found to cost the
  /// least work in all: a random time between zero and the wait.
  ///
  /// - Parameters:
  ///   - start: The wait before the second attempt.
  ///   - factor: How much longer each further wait is; at least 1.
  ///   - cap: The longest wait; none when nil.
  ///   - jitter: How a wait is varied, so that many clients do not come back at the same instant.
  /// - Returns: The backoff.
  public static func exponential(
    from start: Duration,
    factor: Double = 2,
    cap: Duration? = nil,
    jitter: Jitter = .full
  ) -> Backoff {
    Backoff(kind: .exponential(from: start, factor: max(1, factor), cap: cap, jitter: jitter))
  }

  /// How a wait is varied.
  public struct Jitter: Hashable, Sendable {
    private enum Kind { case none, full }

    private let kind: Kind

    /// Not at all.
    public static let none = Jitter(kind: .none)

    /// Anything from zero to the wait, evenly.
    public static let full = Jitter(kind: .full)
  }

  /// The wait after a number of failed attempts, computed anew at each call.
  ///
  /// - Parameters:
  ///   - failures: How many attempts have failed; the first wait follows the first failure.
  ///   - generator: Where jitter takes its chance from.
  /// - Returns: The wait, never negative.
  public func delay(afterFailures failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
    switch kind {
    case .none:
      return .zero
    case .constant(let duration):
      return duration.clamped
    case .exponential(let start, let factor, let cap, let jitter):
      let wait = Self.grown(start, by: factor, times: max(1, failures) - 1, cap: cap)
      return jitter == .full ? min(wait, wait * Double.random(in: 0...1, using: &generator)) : wait
    }
  }

  /// Multiplies without ever leaving what a `Duration` holds.
  private static func grown(_ start: Duration, by factor: Double, times: Int, cap: Duration?) -> Duration {
    let ceiling = (cap ?? .century).clamped
    var wait = min(start.clamped, ceiling)
    guard factor > 1, wait > .zero else { return wait }
    // By squaring: however many attempts there were, this takes a few rounds.
    var power = factor
    var remaining = times
    while remaining > 0 {
      if !remaining.isMultiple(of: 2) { wait = wait > ceiling / power ? ceiling : wait * power }
      power *= power
      remaining /= 2
    }
    return min(wait, ceiling)
  }
}
