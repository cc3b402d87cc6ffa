// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error thrown when a chain or a step is used where it would hang, or could not be undone.
public struct ChainError: Error, Hashable, CustomStringConvertible {
  private enum Kind {
    case reentrant, outsideRun
  }

  private let kind: Kind

  /// A step or a handler awaited a run that waits for that step or handler, directly or through other runs.
  ///
  /// A run waits for what its steps await, in its own task and in those that the library creates for it (`timeout`,
  /// `abandon`, `zip`, `race`, `thenMap`, `withCancellation`), and in the queue of its chain for the run in flight.
  /// A job waits in a serial queue for the job that runs there.
  /// `run` of a chain with an overlap policy also throws this error in any task that one of its steps created. Use
  /// `start` there, which does not wait, and await the value outside of the step.
  public static let reentrant = ChainError(kind: .reentrant)

  /// A step that can be undone began outside of a run, or in an undo or a handler, where nothing would undo it.
  public static let outsideRun = ChainError(kind: .outsideRun)

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ChainError, error: any Error) -> Bool { (error as? ChainError) == pattern }

  /// What was wrong, and what to do instead.
  public var description: String {
    switch kind {
    case .reentrant:
      "A step or handler awaited a run that waits for that step or handler, so neither could complete. "
        + "Call `start` there, and await the run outside of the step."
    case .outsideRun:
      "A step with `undo:` began outside of a run, or in an undo or handler, so nothing would undo it. "
        + "Call `step` in the step of a chain, or leave out `undo:`."
    }
  }
}
