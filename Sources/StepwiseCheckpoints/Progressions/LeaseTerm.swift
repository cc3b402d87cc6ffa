// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How long a lease may be relied on, as a value: until its duration has passed since the last successful renewal.
///
/// A renewal counts from the instant at which it was requested, which is not later than the instant at which the store
/// granted it. Times are distances from an origin that the caller chooses.
package struct LeaseTerm: Sendable, Equatable {
  /// The next action of the holder.
  package enum Action: Sendable, Equatable {
    /// Renew the lease now.
    case renew
    /// Do nothing before this time.
    case wait(until: Duration)
    /// Do nothing: the lease ends only with its holder.
    case rest
    /// Stop: the lease is over.
    case stop
  }

  private enum State: Sendable, Equatable {
    /// The lease ends only with its holder.
    case unlimited
    /// The lease was granted at `start` and is renewed no later than `renewal`.
    case limited(start: Duration, duration: Duration, renewal: Duration)
    /// The lease is over.
    case over
  }

  /// The longest duration, so that no sum overflows.
  private static let longest = Duration.seconds(1 << 31)

  private var state: State

  /// Starts the term of a lease.
  package init(_ duration: Duration?, at start: Duration) {
    state = Self.granted(duration, at: start)
  }

  /// The time at which the lease ends; nil for a lease that ends only with its holder.
  package var end: Duration? {
    switch state {
    case .unlimited: nil
    case .limited(let start, let duration, _): start + duration
    case .over: .zero
    }
  }

  /// Returns the action for a time.
  package mutating func proceed(at now: Duration) -> Action {
    switch state {
    case .unlimited: return .rest
    case .over: return .stop
    case .limited(let start, let duration, let renewal):
      if now >= start + duration {
        state = .over
        return .stop
      }
      return now >= renewal ? .renew : .wait(until: renewal)
    }
  }

  /// The store has granted a renewal that was requested at a time.
  ///
  /// A renewal that was granted after the end of the term has no effect, because another holder may have acquired the
  /// id.
  package mutating func renewed(_ duration: Duration?, since start: Duration) {
    if state != .over { state = Self.granted(duration, at: start) }
  }

  /// The store could not be reached; the next attempt follows soon.
  package mutating func failed(at now: Duration) {
    guard case .limited(let start, let duration, _) = state else { return }
    state = .limited(start: start, duration: duration, renewal: now + duration / 12)
  }

  /// The store reports that the lease is over.
  package mutating func refused() { state = .over }

  private static func granted(_ duration: Duration?, at start: Duration) -> State {
    guard let duration = duration.map({ min($0, longest) }) else { return .unlimited }
    return .limited(start: start, duration: duration, renewal: start + duration / 3)
  }
}
