// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a check of a `SchemaLock` did to its file.
public enum SchemaLockResult: Sendable, Hashable {
  /// The file did not exist and was written.
  case recorded

  /// New cases, labels or samples were added.
  case extended

  /// The file is unchanged.
  case unchanged
}

/// An error thrown when an edit makes stored stages unreadable.
public struct SchemaLockError: Error, Sendable, CustomStringConvertible {
  /// The path of the lock's file.
  public let file: String

  /// The stages that cannot be read and the migrations to write, one or two sentences for each case.
  public let problems: [String]

  /// All of the problems.
  public var description: String { (problems + ["What is stored is noted in \(file)."]).joined(separator: "\n") }
}
