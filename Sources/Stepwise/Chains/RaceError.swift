// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// None of the chains of a race has succeeded.
public struct RaceError: Error, CustomStringConvertible {
  /// What the chains threw, in the order in which they were given.
  public let errors: [any Error]

  init(errors: [any Error]) {
    self.errors = errors
  }

  /// All the errors, in the order of the chains.
  public var description: String {
    errors.isEmpty ? "a race of no chains has no winner" : "no chain of the race succeeded: \(errors)"
  }
}
