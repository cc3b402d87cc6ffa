// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The delay before the next attempt.
public struct Backoff: Sendable {
  private enum Kind {
    case none
    case constant(Duration)
    case exponential(from: Duration, factor: Double, cap: Duration?, jitter: Jitter)
  }

  private let kind: Kind

  /// No delay.
  public static let none = Backoff(kind: .none)

  /// The same delay before each further attempt.
  public static func constant(_ duration: Duration) -> Backoff { Backoff(kind: .constant(duration)) }

  /// A delay that grows by a factor with each attempt.
  ///
  /// Full jitter, a random delay between zero and the computed one, caused the least total work in "Exponential Backoff
  /// And Jitter" (M. Brooker, AWS Architecture Blog, 2015).
  ///
  /// - Parameters:
  ///   - start: The delay before the second attempt.
  ///   - factor: The factor between successive delays; at least 1.
  ///   - cap: The longest delay; unlimited when nil.
  ///   - jitter: How to randomize the delay, so that many clients do not retry at the same instant.
  /// - Returns: The backoff.
  public static func exponential(
    from start: Duration,
    factor: Double = 2,
    cap: Duration? = nil,
    jitter: Jitter = .full
  ) -> Backoff {
    Backoff(kind: .exponential(from: start, factor: max(1, factor), cap: cap, jitter: jitter))
  }

  /// How to randomize a delay.
  public struct Jitter: Hashable, Sendable {
    private enum Kind { case none, full }

    private let kind: Kind

    /// No randomization.
    public static let none = Jitter(kind: .none)

    /// A uniformly random delay between zero and the computed one.
    public static let full = Jitter(kind: .full)
  }

  /// Returns the delay after a number of failed attempts; jitter is drawn at each call.
  ///
  /// - Parameters:
  ///   - failures: The number of failed attempts; the first delay follows the first failure.
  ///   - generator: The random source for jitter.
  /// - Returns: The delay, never negative.
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

  /// Multiplies without overflowing `Duration`.
  private static func grown(_ start: Duration, by factor: Double, times: Int, cap: Duration?) -> Duration {
    let ceiling = (cap ?? .century).clamped
    var wait = min(start.clamped, ceiling)
    guard factor > 1, wait > .zero else { return wait }
    // Exponentiation by squaring takes few rounds for any number of attempts.
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

extension Duration {
  /// The longest wait that this package uses.
  package static var century: Duration { .seconds(3_155_760_000) }

  /// The duration, clamped to between zero and a century.
  ///
  /// Every clock can add that to its time; longer ones may trap.
  package var clamped: Duration { min(max(self, .zero), .century) }
}
