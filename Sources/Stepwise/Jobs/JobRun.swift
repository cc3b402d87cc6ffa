// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A job that was launched: a ``Run``, and its updates.
///
/// It has all that a `Run` has. Where a `Run<Output>` is asked for, `launch` gives that, and ``run`` is it. Letting the
/// handle go cancels nothing.
public struct JobRun<Update: Sendable, Output: Sendable>: Sendable {
  /// The handle without the type of the updates.
  public let run: Run<Output>

  /// What the job tells while it runs, the newest first, for any number of consumers, at any time.
  public let updates: JobUpdates<Update>

  /// Cancels the job, and silences it.
  ///
  /// The work is interrupted at once, as Task cancellation; a job that waits leaves its queue at once and never begins. No
  /// handler is called any more: once this has returned on the main actor none is, not even when it was on the way there.
  /// Called on another thread, it does not wait for a handler that the main actor is calling just then.
  ///
  /// - Parameter reason: Why, for those who look at the outcome.
  /// - Returns: Whether this call cancelled the run: `false` when it was cancelled before, or when what it ends with was
  ///   decided already. Handlers are silenced all the same.
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool { run.cancel(reason: reason) }

  /// Whether the job has ended, handlers included.
  public var isFinished: Bool { run.isFinished }

  /// Waits for the job's value, as ``Run/value`` does.
  public var value: Output { get async throws { try await run.value } }

  /// Waits for the job's end, whatever happens to the Task that waits, as ``Run/outcome`` does.
  public var outcome: Outcome<Output> { get async { await run.outcome } }

  /// The undos that failed so far, of chains that run as the job's work.
  public var undoErrors: [UndoError] { run.undoErrors }

  /// What happens in the run, from its beginning, for any number of consumers, at any time.
  public var events: ChainEvents { run.events }

  /// How far the run is, for any number of consumers, at any time.
  public var progress: ChainProgressUpdates { run.progress }
}
