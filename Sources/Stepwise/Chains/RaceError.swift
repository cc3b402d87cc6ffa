// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error thrown when no chain of a race succeeds.
public struct RaceError: Error, CustomStringConvertible {
  /// The errors of the chains, in the order in which the chains were passed.
  public let errors: [any Error]

  init(errors: [any Error]) {
    self.errors = errors
  }

  /// All the errors, in the order of the chains.
  public var description: String {
    errors.isEmpty ? "a race needs at least one chain" : "no chain of the race succeeded: \(errors)"
  }
}
