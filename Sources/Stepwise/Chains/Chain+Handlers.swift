// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Calls a handler with the error that a run ends with.
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
    Chain(core: core.appending(.onError(handler)))
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
    Chain(core: core.appending(.finally(handler)))
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
    Chain(core: core.appending(.overlap(policy)))
  }
}
