// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One launch of a job, as its queue sees it.
final class JobTicket: Sendable {
  let name: String
  let owner: JobOwner?
  private let turn = Once<Void>()
  private let state = Lock(State())

  private struct State {
    var run: RunCore?
    /// Why it is to be cancelled, if that was asked before there was anything to cancel.
    var request: Cancellation?
  }

  init(name: String, owner: JobOwner?) {
    self.name = name
    self.owner = owner
  }

  /// Its turn has come.
  func admit() { turn.settle(()) }

  /// Waits for its turn.
  ///
  /// - Throws: `CancellationError` when the Task that waits is cancelled.
  nonisolated(nonsending) func waitForTurn() async throws {
    if await turn.value() == nil { throw CancellationError() }
    // The turn of one that was cancelled may have come first.
    try Task.checkCancellation()
  }

  func attach(_ run: RunCore) {
    let request = state.withLock { state in
      state.run = run
      return state.request
    }
    if let request { _ = run.cancel(reason: request.reason) }
  }

  func cancel(reason: String?) {
    let run: RunCore? = state.withLock { state in
      if state.run == nil { state.request = Cancellation(reason: reason) }
      return state.run
    }
    _ = run?.cancel(reason: reason)
  }

  /// The job has ended.
  func detach() {
    _ = state.withLock { $0.run.take() }
  }
}
