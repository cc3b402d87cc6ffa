// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts the runs in flight, and resumes waiters when there are none.
struct RunCounter: ~Copyable, Sendable {
  private let runs = Atomic(0)
  private let isAwaited = Atomic(false)
  /// Settled when no run is in flight; non-nil while there may be waiters.
  private let drained = Lock<Once<Void>?>(nil)

  var count: Int { runs.load(ordering: .sequentiallyConsistent) }

  func begin() {
    runs.add(1, ordering: .sequentiallyConsistent)
    RunsBegun.beginRun()
  }

  func end() {
    let (_, remaining) = runs.subtract(1, ordering: .sequentiallyConsistent)
    if remaining == 0, isAwaited.load(ordering: .sequentiallyConsistent) { release() }
    RunsBegun.endRun()
  }

  /// Returns when no run is in flight, or when the waiting task is cancelled.
  nonisolated(nonsending) func drain() async {
    let drained = drained.withLock { drained in
      let once = drained ?? Once()
      drained = once
      return once
    }
    // Announces the waiter before it reads the count: a run that ends between the two sees the waiter.
    isAwaited.store(true, ordering: .sequentiallyConsistent)
    if count == 0 { release() }
    _ = await drained.value()
  }

  private func release() {
    // A waiter that arrived after a further run started waits for that run, which will call this method again.
    drained.withLock { drained in
      guard count == 0 else { return Once<Void>?.none }
      isAwaited.store(false, ordering: .sequentiallyConsistent)
      return drained.take()
    }?.settle(())
  }
}
