// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error thrown when the undo of a completed step fails.
public struct UndoError: Error, CustomStringConvertible {
  /// The step that was not undone: its name, or its position in the chain.
  public let step: String

  /// The error of the undo.
  public let underlying: any Error

  let chainStep: ChainStep

  init(step: ChainStep, underlying: any Error) {
    self.step = step.description
    self.underlying = underlying
    chainStep = step
  }

  /// The step, and the error of its undo.
  public var description: String { "\(step) could not be undone: \(underlying)" }
}
