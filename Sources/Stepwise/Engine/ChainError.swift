// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error thrown when a chain or a step is used where it would hang, or could not be undone.
///
/// Its description tells you what to change in your code.
///
/// Further cases may be added, so end a `switch` over it with `default`.
public enum ChainError: Error, CustomStringConvertible {
  /// A step or a handler awaited a run that waits for that step or handler, directly or through other runs.
  ///
  /// A run waits for what its steps await, also in tasks that the library creates for it, and for the run or the job
  /// that occupies its gate. `run` of a chain with an overlap policy also throws this error in any task that one of its
  /// steps created. Use `start` there, which does not wait, and await the value outside of the step.
  case reentrant

  /// A step that can be undone began outside of a run, in an undo or a handler, or in a progression that no chain runs,
  /// where nothing would undo it.
  case outsideRun

  /// A step began in a task that a run created and that has outlived the run, so nothing would record or undo it.
  ///
  /// Create such a task with `Task.detached`, for example the loop of a service that a step happens to use first.
  case runHasEnded

  /// What was wrong, and what to do instead.
  public var description: String {
    switch self {
    case .reentrant:
      "A step or handler awaited a run that waits for that step or handler, so neither could complete. "
        + "Call `start` there, and await the run outside of the step."
    case .outsideRun:
      "A step with `undo:` began outside of a run, in an undo or handler, or in a progression that no chain runs, so "
        + "nothing would undo it. Call `step` in the step of a chain, append the progression to a chain with "
        + "`appending(running:)`, or leave out `undo:`."
    case .runHasEnded:
      "A step began in a task that has outlived the run in which it was created. Create the task with `Task.detached`, "
        + "or await it in the run."
    }
  }
}
