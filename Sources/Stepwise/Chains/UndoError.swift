// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The undo of a completed step has failed.
public struct UndoError: Error, CustomStringConvertible {
  /// The step that is not undone: its name, or its place in the chain when it has none.
  public let step: String

  /// What its undo threw.
  public let underlying: any Error

  init(step: String, underlying: any Error) {
    self.step = step
    self.underlying = underlying
  }

  /// The step, and what its undo threw.
  public var description: String { "\(step) could not be undone: \(underlying)" }
}
