// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The runs of a trace: the newest ones, and a count of those that were dropped.
final class TraceCollector: Sendable {
  private struct State {
    var runs = OrderedSlots<RunRecorder>()
    var count = 0
    var droppedCount = 0
  }

  /// The number of entries of each run that are retained.
  let capacity: Int
  private let maxRuns: Int
  private let state = Lock(State())

  init(capacity: Int, maxRuns: Int) {
    self.capacity = max(1, capacity)
    self.maxRuns = max(1, maxRuns)
  }

  func add(_ run: RunRecorder) {
    // The dropped run is released outside the lock.
    _ = state.withLock { state -> RunRecorder? in
      _ = state.runs.append(run)
      state.count += 1
      guard state.count > maxRuns else { return nil }
      state.count -= 1
      state.droppedCount += 1
      return state.runs.popFirst()
    }
  }

  func trace(at time: Duration) -> RunTrace {
    let (runs, droppedCount) = state.withLock { state in
      var runs: [RunRecorder] = []
      state.runs.forEach { _, run in runs.append(run) }
      return (runs, state.droppedCount)
    }
    return RunTrace(of: runs.map { $0.snapshot(at: time) }, droppedRunCount: droppedCount)
  }
}
