// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts the runs in flight and tells those who wait for none.
struct RunCounter: ~Copyable, Sendable {
  private let runs = Atomic(0)
  private let isAwaited = Atomic(false)
  /// Settled when no run is in flight; there as long as somebody may be waiting for that.
  private let drained = Lock<Once<Void>?>(nil)

  var count: Int { runs.load(ordering: .sequentiallyConsistent) }

  func begin() {
    runs.add(1, ordering: .sequentiallyConsistent)
  }

  func end() {
    let (_, remaining) = runs.subtract(1, ordering: .sequentiallyConsistent)
    if remaining == 0, isAwaited.load(ordering: .sequentiallyConsistent) { release() }
  }

  /// Returns when no run is in flight, or when the Task that waits is cancelled.
  nonisolated(nonsending) func drain() async {
    let drained = drained.withLock { drained in
      let once = drained ?? Once()
      drained = once
      return once
    }
    // Told first, looked at the count next: a run that ends between the two sees it.
    isAwaited.store(true, ordering: .sequentiallyConsistent)
    if count == 0 { release() }
    _ = await drained.value()
  }

  private func release() {
    // Who came after a further run had begun waits for that one, which will be here again.
    drained.withLock { drained in
      guard count == 0 else { return Once<Void>?.none }
      isAwaited.store(false, ordering: .sequentiallyConsistent)
      return drained.take()
    }?.settle(())
  }
}
