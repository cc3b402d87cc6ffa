// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An observer of one run, in addition to the handlers of its chain.
protocol RunListener: AnyObject, Sendable {
  /// The run has been created and has not started.
  func attach(_ run: RunState)

  /// The run starts, cancelled or not: every source of cancellation can reach it now.
  func begin()

  /// The run was cancelled, possibly too late to change its outcome.
  ///
  /// Called before the run is interrupted, once for each cancellation.
  func stop()

  /// The runs that must end before the listener lets this one work; called without a lock.
  var blockers: [RunState] { get }

  /// The outcome is decided and the handlers have run. The completion is delivered after this returns.
  nonisolated(nonsending) func conclude(_ outcome: Outcome<Void>) async
}
