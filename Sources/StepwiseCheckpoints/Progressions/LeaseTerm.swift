// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How long a lease may be relied on, as a pure value: until its duration has passed since the last successful renewal.
///
/// A renewal counts from the instant at which it was requested, which is not after the instant at which the store granted
/// it. Times are distances from an origin of the caller's.
package struct LeaseTerm: Sendable, Equatable {
  /// What the holder does next.
  package enum Action: Sendable, Equatable {
    /// Renew the lease, now.
    case renew
    /// Nothing before this time.
    case wait(until: Duration)
    /// Nothing at all: the lease ends with its holder.
    case rest
    /// Give up: the lease is over.
    case stop
  }

  private enum State: Sendable, Equatable {
    /// The lease ends with its holder alone.
    case unlimited
    /// The lease was granted at `start`; it is renewed at `renewal`, at the latest.
    case limited(start: Duration, duration: Duration, renewal: Duration)
    /// The lease is over.
    case over
  }

  /// No lease lasts longer, so that no sum overflows.
  private static let longest = Duration.seconds(1 << 31)

  private var state: State

  /// Begins the term of a lease.
  package init(_ duration: Duration?, at start: Duration) {
    state = Self.granted(duration, at: start)
  }

  /// The time at which the lease is over; nil for a lease that ends with its holder alone.
  package var end: Duration? {
    switch state {
    case .unlimited: nil
    case .limited(let start, let duration, _): start + duration
    case .over: .zero
    }
  }

  /// Returns what to do at a time.
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

  /// The store has renewed the lease, as it was requested to at a time.
  ///
  /// A renewal that was granted when the term was over already changes nothing: another holder may have been let in.
  package mutating func renewed(_ duration: Duration?, since start: Duration) {
    if state != .over { state = Self.granted(duration, at: start) }
  }

  /// The store could not be reached: the lease is renewed again soon.
  package mutating func failed(at now: Duration) {
    guard case .limited(let start, let duration, _) = state else { return }
    state = .limited(start: start, duration: duration, renewal: now + duration / 12)
  }

  /// The store says that the lease is over.
  package mutating func refused() { state = .over }

  private static func granted(_ duration: Duration?, at start: Duration) -> State {
    guard let duration = duration.map({ min($0, longest) }) else { return .unlimited }
    return .limited(start: start, duration: duration, renewal: start + duration / 3)
  }
}
