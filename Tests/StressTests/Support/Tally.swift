// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts from any thread.
final class Tally: Sendable {
  private let count = Atomic(0)

  var total: Int { count.load(ordering: .acquiring) }

  func add(_ number: Int = 1) {
    count.add(number, ordering: .acquiringAndReleasing)
  }
}
