// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Counts objects that closures hold, to show that everything was let go.
///
/// ```swift
/// let tracker = LifetimeTracker()
/// let chain = Chain("work") { [token = tracker.track()] in withExtendedLifetime(token) { … } }
/// // … run it, let go of it …
/// await tracker.allReleased()
/// ```
///
/// It may be used from any thread, and may go before its objects do.
public final class LifetimeTracker: Sendable {
  struct Counts: Sendable {
    var made = 0
    var alive = 0
  }

  private let counts = Watched(Counts())

  /// Makes a tracker that has tracked nothing.
  public init() {}

  /// How many objects were made.
  public var made: Int {
    counts.read(\.made)
  }

  /// How many of the objects are still held by somebody.
  public var alive: Int {
    counts.read(\.alive)
  }

  /// Makes an object to be captured, which counts as alive until nobody holds it.
  public func track() -> Tracked {
    counts.mutate {
      $0.made += 1
      $0.alive += 1
    }
    return Tracked(counts: counts)
  }

  /// Suspends until no object is held any more.
  ///
  /// Returns at once when none was made, and early when the waiting task is cancelled.
  public nonisolated(nonsending) func allReleased() async {
    await counts.wait { $0.alive == 0 }
  }
}
