// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts the cancellations in this process, of tokens, runs and chains.
///
/// A run that is nested in many others, each of which may be cancelled, looks at them again only after this has changed.
enum CancellationCount {
  private static let count = Atomic(0)

  static var current: Int { count.load(ordering: .acquiring) }

  /// To be called when what was cancelled can be seen to be.
  static func increment() { count.add(1, ordering: .acquiringAndReleasing) }
}
