// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts the cancellations of tokens, runs and chains in this process.
///
/// A run that is nested in many others, each of which may be cancelled, checks them again only after the count has
/// changed.
enum CancellationCount {
  private static let count = Atomic(0)

  static var current: Int { count.load(ordering: .acquiring) }

  /// Call after the cancellation has become observable.
  static func increment() { count.add(1, ordering: .acquiringAndReleasing) }
}
