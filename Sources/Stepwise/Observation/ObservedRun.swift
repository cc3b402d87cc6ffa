// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A run, as its observers see it.
public struct ObservedRun: Hashable, Identifiable, Sendable, CustomStringConvertible {
  /// A number that no other run of the process has.
  public let id: UInt64

  /// The name of the chain, or else the names of its first and last step.
  public let name: String

  /// The innermost observed run that this one is part of or that was started in a step or handler of, if any.
  public let parentID: UInt64?

  /// The name and the number.
  public var description: String { "\(name) (run \(id))" }
}

/// A step of a run, as observers of the run see it.
public struct ObservedStep: Hashable, Sendable, CustomStringConvertible {
  /// The run that the step is part of; for an undo, the run that undoes it, which may contain that one.
  public let run: ObservedRun

  /// The position and the name.
  ///
  /// The steps of a nested chain are counted at its position.
  public let step: ChainStep

  /// How many times the step has started in this run and in the run that contains it, starting at 1.
  public let attempt: Int

  /// The name, or the position, counted from 1, of a step without a name.
  public var description: String { step.description }
}
