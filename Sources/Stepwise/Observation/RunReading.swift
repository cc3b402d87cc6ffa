// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// What a run has recorded so far, at one time: all that another module can read of it.
package struct RunReading: Sendable {
  /// The number that observers know the run by; nil when nothing observes it.
  package let id: UInt64?
  /// The number of the run in which it was started.
  package let parentID: UInt64?
  /// The name of the chain, if it has one.
  package let name: String?
  package let steps: Range<Int>
  package let step: @Sendable (Int) -> ChainStep
  package let start: Duration
  /// The time at which it was read.
  package let now: Duration
  /// What happened, oldest first.
  package let entries: [RunRecord.Entry]
  package let droppedCount: Int
  /// The error of the run.
  package let error: (any Error)?
}

/// The runs that were started in a scope, and what its body returned or threw.
package struct CollectedRuns<Value> {
  package let result: Result<Value, any Error>
  package let readings: [RunReading]
  /// The number of runs that exceeded the capacity.
  package let droppedCount: Int
}

/// Retains the first run of a scope and the newest ones, and counts those that it dropped.
final class RunCollector: Sendable {
  private struct State {
    /// Usually contains all the others.
    var first: RunRecorder?
    var others = Fifo<RunRecorder>()
    var droppedCount = 0
  }

  /// The number of entries of each run that are retained.
  let capacity: Int
  private let maxRuns: Int
  private let state = Lock(State())
  private let isOver = Atomic(false)

  /// Whether the runs have not been taken.
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
      state.others.append(run)
      guard state.others.count >= maxRuns else { return nil }
      state.droppedCount += 1
      return state.others.popFirst()
    }
  }

  /// Reads the runs, and retains nothing any more: the runs retain this object.
  func take(at time: Duration) -> ([RunReading], droppedCount: Int) {
    let (runs, droppedCount) = state.withLock { state in
      isOver.store(true, ordering: .releasing)
      return ((state.first.take().map { [$0] } ?? []) + state.others.removeAll(), state.droppedCount)
    }
    return (runs.map { $0.reading(at: time) }, droppedCount)
  }
}
