// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts from any thread.
final class Tally: Sendable {
  private let count = Atomic(0)

  var total: Int { count.load(ordering: .acquiring) }

  /// Counts one, and returns the count with it.
  func increment() -> Int {
    count.add(1, ordering: .acquiringAndReleasing).newValue
  }
}
