// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The handlers of one run, which a cancellation silences: those of a job.
///
/// The handlers of a chain belong to all of its runs and are called on cancellation too, so they need no such object.
protocol RunHandlers: AnyObject, Sendable {
  /// Calls no further handler; called with each cancellation, even too late to change the outcome.
  func silence()

  /// Calls the handlers, after those of the chain; the completion is delivered after this returns.
  nonisolated(nonsending) func conclude(_ outcome: Outcome<Void>, with output: borrowing ValueSlot) async
}
