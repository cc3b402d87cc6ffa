// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a check of a `SchemaLock` did to its file.
public enum SchemaLockResult: Sendable, Hashable {
  /// There was none; it was written.
  case recorded

  /// New cases, labels or samples were added.
  case extended

  /// It is as it was.
  case unchanged
}

/// Stored stages that an edit makes unreadable.
public struct SchemaLockError: Error, Sendable, CustomStringConvertible {
  /// The path of the lock's file.
  public let file: String

  /// What cannot be read and which migration to write, a sentence or two for each case.
  public let problems: [String]

  /// All of the problems.
  public var description: String { (problems + ["What is stored is noted in \(file)."]).joined(separator: "\n") }
}
