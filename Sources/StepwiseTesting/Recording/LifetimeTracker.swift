// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Checks that nothing leaks: counts the objects that your closures capture until they are released.
///
/// Use it to test that a screen is released when your run ends.
///
/// ```swift
/// let tracker = LifetimeTracker()
/// do {
///   let chain = Chain("work") { [token = tracker.track()] in withExtendedLifetime(token) { work() } }
///   try await chain.run()
/// }
/// await tracker.allReleased()
/// ```
///
/// It may be used from any thread, and may be released before its objects.
public final class LifetimeTracker: Sendable {
  struct Counts: Sendable {
    var made = 0
    var alive = 0
  }

  private let counts = Watched(Counts())

  /// Creates a tracker without objects.
  public init() {}

  /// The number of objects that were created.
  public var made: Int {
    counts.read(\.made)
  }

  /// The number of objects that are not released.
  public var alive: Int {
    counts.read(\.alive)
  }

  /// Creates an object to capture, which counts as alive until it is released.
  public func track() -> Tracked {
    counts.mutate {
      $0.made += 1
      $0.alive += 1
    }
    return Tracked(counts: counts)
  }

  /// Suspends until all objects are released.
  ///
  /// Returns immediately when there are none, and early when the waiting task is cancelled.
  public nonisolated(nonsending) func allReleased() async {
    await counts.wait { $0.alive == 0 }
  }
}

extension LifetimeTracker {
  /// An object that its tracker counts as alive until it is released.
  public final class Tracked: Sendable {
    private let counts: Watched<Counts>

    init(counts: Watched<Counts>) {
      self.counts = counts
    }

    deinit {
      counts.mutate { $0.alive -= 1 }
    }
  }
}
