// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

/// An error of reading or writing a file, described in one line.
struct FileError: Error, CustomStringConvertible {
  /// The reason, without the file.
  let reason: String
  let description: String

  /// Creates an error from an operation on a file and a reason in words.
  init(_ what: String, _ path: String, because reason: String) {
    self.reason = reason
    description = "cannot \(what) '\(path)': \(reason)"
  }

  /// Creates an error from an operation on a file and a system error.
  init(_ what: String, _ path: String, code: Int32) {
    self.init(what, path, because: Self.words(for: code))
  }

  /// Runs calls on a file; their errors name the operation.
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

  /// The system's description of an error.
  static func words(for code: Int32) -> String { SystemMessage.text(for: code).lowercased() }
}
