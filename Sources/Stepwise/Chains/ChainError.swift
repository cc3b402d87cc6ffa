// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain was used in a way that could never complete.
public struct ChainError: Error, Hashable, CustomStringConvertible {
  private enum Kind {
    case reentrant
  }

  private let kind: Kind

  /// A run was awaited by a step or handler that it waits for itself, directly or through other runs.
  ///
  /// What counts is which run waits for which: a run waits for what its steps await, in its own Task and in those that the
  /// library makes for it (`timeout`, `abandon`, `zip`, `race`, `thenMap`, `withCancellation`), and in the queue of its chain
  /// for the run in flight. `run` of a chain with an overlap policy also throws this in any Task that a step of it made.
  /// In those places use `start`, which does not wait, and await its value outside of the step.
  public static let reentrant = ChainError(kind: .reentrant)

  /// Matches an error in a `catch` clause.
  public static func ~= (pattern: ChainError, error: any Error) -> Bool { (error as? ChainError) == pattern }

  /// What was wrong and what to do instead.
  public var description: String {
    "A run was awaited by a step or handler that it waits for itself, so that it could never complete. "
      + "Call `start` there, and await the run outside of the step."
  }
}
