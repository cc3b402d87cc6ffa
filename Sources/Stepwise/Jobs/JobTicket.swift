// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One launch of a job, as its queue sees it.
final class JobTicket: Sendable {
  let name: String
  let owner: JobOwner?
  private let turn = Once<Void>()
  private let state = Lock(State())

  private struct State {
    var run: RunState?
    /// The cancellation, if it was requested before the run existed.
    var request: Cancellation?
  }

  init(name: String, owner: JobOwner?) {
    self.name = name
    self.owner = owner
  }

  /// A Boolean value that indicates whether the queue has not admitted the job yet.
  var isWaiting: Bool { turn.settled == nil }

  /// The run, until the job has completed.
  var run: RunState? { state.withLock { $0.run } }

  /// The queue has admitted the job.
  func admit() { turn.settle(()) }

  /// Waits for a slot in the queue.
  ///
  /// - Throws: `CancellationError` when the waiting task is cancelled.
  nonisolated(nonsending) func waitForTurn() async throws {
    if await turn.value() == nil { throw CancellationError() }
    // A job that is cancelled may have been admitted first.
    try Task.checkCancellation()
  }

  func attach(_ run: RunState) {
    let request = state.withLock { state in
      state.run = run
      return state.request
    }
    if let request { _ = run.cancel(reason: request.reason) }
  }

  func cancel(reason: String?) {
    let run: RunState? = state.withLock { state in
      if state.run == nil { state.request = Cancellation(reason: reason) }
      return state.run
    }
    _ = run?.cancel(reason: reason)
  }

  /// The job has completed.
  func detach() {
    _ = state.withLock { $0.run.take() }
  }
}
