// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The runs of a trace: the first one and the newest ones, and a count of those that were dropped.
final class TraceCollector: Sendable {
  private struct State {
    /// Usually contains all the others.
    var first: RunRecorder?
    var others = OrderedSlots<RunRecorder>()
    var droppedCount = 0
  }

  /// The number of entries of each run that are retained.
  let capacity: Int
  private let maxRuns: Int
  private let state = Lock(State())
  private let isOver = Atomic(false)

  /// Whether the trace has not been taken.
  var isOpen: Bool { !isOver.load(ordering: .acquiring) }

  init(capacity: Int, maxRuns: Int) {
    self.capacity = max(1, capacity)
    self.maxRuns = max(1, maxRuns)
  }

  func add(_ run: RunRecorder) {
    // The dropped run is released outside the lock.
    _ = state.withLock { state -> RunRecorder? in
      guard isOpen else { return nil }
      guard state.first != nil else {
        state.first = run
        return nil
      }
      _ = state.others.append(run)
      guard state.others.count >= maxRuns else { return nil }
      state.droppedCount += 1
      return state.others.popFirst()
    }
  }

  /// Returns the trace, and retains nothing any more: the runs retain this object.
  func take(at time: Duration) -> RunTrace {
    let (runs, droppedCount) = state.withLock { state in
      isOver.store(true, ordering: .releasing)
      return ((state.first.take().map { [$0] } ?? []) + state.others.removeAll(), state.droppedCount)
    }
    return RunTrace(of: runs.map { $0.snapshot(at: time) }, droppedRunCount: droppedCount)
  }
}
