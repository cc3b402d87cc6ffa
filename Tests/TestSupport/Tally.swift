// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts from any thread.
package final class Tally: Sendable {
  private let count = Atomic(0)

  package init() {}

  package var total: Int { count.load(ordering: .acquiring) }

  package func add(_ number: Int = 1) {
    count.add(number, ordering: .acquiringAndReleasing)
  }

  /// Counts one, and returns the count with it.
  package func increment() -> Int {
    count.add(1, ordering: .acquiringAndReleasing).newValue
  }
}
