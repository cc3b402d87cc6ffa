// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The state that a chain shares with the chains derived from it: the token, and the runs that it can interrupt.
final class RunRegistry: Sendable {
  private let isTaken = Atomic(false)
  private let madeToken = Lock<CancellationToken?>(nil)
  private let runs = Lock(OrderedSlots<StartedRun>())

  /// The token, if it has been accessed.
  var tokenIfTaken: CancellationToken? {
    isTaken.load(ordering: .acquiring) ? madeToken.withLock { $0 } : nil
  }

  var isTokenTaken: Bool { isTaken.load(ordering: .acquiring) }

  /// The token, created on first access.
  ///
  /// It has one listener, which cancels all runs.
  var token: CancellationToken {
    let (token, isNew) = madeToken.withLock { made in
      if let made { return (made, false) }
      let token = CancellationToken()
      made = token
      isTaken.store(true, ordering: .releasing)
      return (token, true)
    }
    if isNew { _ = token.listen { [weak self] reason in self?.cancelRuns(reason: reason) { _ in true } } }
    return token
  }

  /// Adds a run that a cancellation interrupts immediately.
  func add(_ run: StartedRun) -> OrderedSlots<StartedRun>.Key {
    runs.withLock { $0.append(run) }
  }

  func remove(_ key: OrderedSlots<StartedRun>.Key) {
    runs.withLock { $0.remove(key) }
  }

  func cancelRuns(reason: String?, where isMeant: (StartedRun) -> Bool) {
    let runs = runs.withLock { runs in
      var all: [StartedRun] = []
      runs.forEach { _, run in all.append(run) }
      return all
    }
    for run in runs where isMeant(run) { _ = run.cancel(reason: reason) }
  }
}

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

/// Counts the runs that begin under a task-local value, until none is left.
final class RunsBegun: Sendable {
  @TaskLocal static var current: RunsBegun?
  /// Whether the process uses any; otherwise no run looks for the task-local value.
  private static let isUsed = Atomic(false)

  private struct State {
    var count = 0
    var completed: Once<Void>?
  }

  /// The runs around these, which they belong to as well.
  private let outer: RunsBegun?
  private let state = Lock(State())

  init(in outer: RunsBegun?) {
    self.outer = outer
    Self.isUsed.store(true, ordering: .releasing)
  }

  /// A run begins; this task, or one that inherits its task-local values, calls `endRun()` after the run's handlers.
  static func beginRun() {
    guard isUsed.load(ordering: .acquiring), let current else { return }
    for runs in sequence(first: current, next: \.outer) { runs.state.withLock { $0.count += 1 } }
  }

  static func endRun() {
    guard isUsed.load(ordering: .acquiring), let current else { return }
    for runs in sequence(first: current, next: \.outer) {
      let completed = runs.state.withLock { state in
        state.count -= 1
        return state.count == 0 ? state.completed.take() : nil
      }
      completed?.settle(())
    }
  }

  /// Waits until every run has completed, regardless of cancellation.
  func completion() async {
    let completed = state.withLock { state -> Once<Void>? in
      guard state.count > 0 else { return nil }
      let completed = state.completed ?? Once()
      state.completed = completed
      return completed
    }
    await completed?.valueIgnoringCancellation()
  }
}
