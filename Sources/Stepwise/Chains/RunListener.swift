// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Who is told what becomes of one run, beside the handlers of its chain.
protocol RunListener: AnyObject, Sendable {
  /// The run is made, and nothing of it has begun.
  func attach(_ run: RunCore)

  /// Whoever can cancel the run by now has been able to: it begins, cancelled or not.
  func begin()

  /// The run was asked to stop, by whomever, and also when that comes too late to change its outcome.
  ///
  /// Called before the run itself is interrupted, each time anew.
  func stop()

  /// How the run ends is decided and its handlers have run; whoever awaits the run waits for this.
  nonisolated(nonsending) func conclude(_ outcome: Outcome<Void>) async
}
