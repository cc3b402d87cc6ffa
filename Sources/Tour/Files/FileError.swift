// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

/// Why a file could not be read or written, in one line.
struct FileError: Error, CustomStringConvertible {
  /// Why, without the file.
  let reason: String
  let description: String

  /// Creates an error from what was wanted of a file and a reason in words.
  init(_ what: String, _ path: String, because reason: String) {
    self.reason = reason
    description = "cannot \(what) '\(path)': \(reason)"
  }

  /// Creates an error from what was wanted of a file and a reason of the system's.
  init(_ what: String, _ path: String, code: Int32) {
    self.init(what, path, because: Self.words(for: code))
  }

  /// Runs calls on a file; their errors say what was wanted of it.
  static func naming<Value>(
    _ what: String,
    _ path: String,
    _ body: () throws(FileFailure) -> Value
  ) throws(FileError) -> Value {
    do {
      return try body()
    } catch {
      throw FileError(what, path, code: error.code)
    }
  }

  /// The system's words for an error.
  static func words(for code: Int32) -> String { SystemMessage.text(for: code).lowercased() }
}
