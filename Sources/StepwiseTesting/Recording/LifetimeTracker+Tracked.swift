// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
