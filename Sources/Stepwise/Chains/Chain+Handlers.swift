// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Calls a handler with the error that a run ends with.
  ///
  /// There may be any number of handlers; each is called, in the order in which they were attached, wherever in the chain
  /// that was. They are not called for cancellation, nor for errors that were retried or replaced. Undos that failed are
  /// told after that error, as ``UndoError``, also when the run was cancelled or had a value in the end. The error is still
  /// thrown. The handler may await, and is shielded from the run's cancellation.
  ///
  /// - Parameter handler: What to do with the error.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func onError(
    _ handler: nonisolated(nonsending) @escaping @Sendable (any Error) async -> Void
  ) -> Chain {
    Chain(core: core.appending(.onError(handler)))
  }

  /// Calls a handler at the end of every run, whatever happened.
  ///
  /// There may be any number of handlers; each is called exactly once a run, last of all, the newest first. Only then does
  /// whoever awaits the run go on. The handler may await, and is shielded from the run's cancellation.
  ///
  /// - Parameter handler: What to do; it is told how the run has ended.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func finally(
    _ handler: nonisolated(nonsending) @escaping @Sendable (ChainState) async -> Void
  ) -> Chain {
    Chain(core: core.appending(.finally(handler)))
  }

  /// Says what a further run does while one is in flight.
  ///
  /// It holds for the whole chain that this returns. A chain derived from that has the policy too, but a gate of its own.
  /// Admission is decided in the order of the calls to `run` and `start`. The last policy given is the one that holds.
  ///
  /// - Parameter policy: What a further run does.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func overlap(_ policy: Overlap) -> Chain {
    Chain(core: core.appending(.overlap(policy)))
  }
}
