// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension ManualClock {
  /// A point in the time of a manual clock, defined by its distance from the clock's zero.
  public struct Instant: InstantProtocol, Hashable, Sendable {
    /// The distance from the clock's zero.
    public let offset: Duration

    /// Creates the instant at the given distance from the clock's zero.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// Returns the instant that is the given duration after this one.
    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset + duration)
    }

    /// Returns the time from this instant to another, negative when the other is earlier.
    public func duration(to other: Instant) -> Duration {
      other.offset - offset
    }

    /// Returns a Boolean value that indicates whether an instant is earlier than another.
    public static func < (left: Instant, right: Instant) -> Bool {
      left.offset < right.offset
    }
  }
}
