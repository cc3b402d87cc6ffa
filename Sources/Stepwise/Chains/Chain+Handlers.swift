// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Calls a handler with the error that a run ends with.
  ///
  /// A handler with a second parameter also receives the step that failed: `.onError { error, step in … }`.
  ///
  /// A chain may have several handlers. They are called in the order in which they were attached, at any position in
  /// the chain. They are not called for cancellation, nor for errors that were retried or replaced. Afterwards they
  /// receive each failed undo as an ``UndoError``, even when the run was cancelled or ended with a value. The error is
  /// still thrown. The handler may suspend, and is shielded from the run's cancellation.
  ///
  /// - Parameter handler: Receives the error.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func onError(
    _ handler: nonisolated(nonsending) @escaping @Sendable (any Error) async -> Void
  ) -> Chain {
    Chain(path.appending(.onError { error, _ in await handler(error) }))
  }

  /// Calls a handler with the error that a run ends with and the step that failed.
  ///
  /// The error is the one that `run` throws, and the handler is called as one without a step is. The index of a step of
  /// an appended chain counts the steps of the whole, as in ``ChainEvent``. For a ``TimeoutError`` the step is the one
  /// that was running, for an ``UndoError`` the one whose undo failed.
  ///
  /// - Parameter handler: What to do with the error; it receives the step as well.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func onError(
    _ handler: nonisolated(nonsending) @escaping @Sendable (any Error, ChainStep) async -> Void
  ) -> Chain {
    Chain(path.appending(.onError(handler)))
  }

  /// Calls a handler when a run completes, regardless of its outcome.
  ///
  /// A chain may have several handlers. Each is called exactly once per run, after everything else, newest first. The
  /// run completes after they have returned. The handler may suspend, and is shielded from the run's cancellation.
  ///
  /// - Parameter handler: Receives the outcome of the run.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func finally(
    _ handler: nonisolated(nonsending) @escaping @Sendable (ChainState) async -> Void
  ) -> Chain {
    Chain(path.appending(.finally(handler)))
  }

  /// Sets what a further run does while one is in flight.
  ///
  /// The policy applies to the whole chain that this method returns. A chain derived from that one has the same policy,
  /// but its own gate. Runs are admitted in the order of the calls of `run` and `start`. The last policy that is set
  /// applies.
  ///
  /// - Parameter policy: What a further run does.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func overlap(_ policy: Overlap) -> Chain {
    Chain(path.appending(.overlap(policy)))
  }
}
