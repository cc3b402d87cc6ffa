// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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
  init(_ what: String, _ path: String, code: Int32 = errno) {
    self.init(what, path, because: Self.words(for: code))
  }

  /// The system's words for an error.
  static func words(for code: Int32) -> String {
    strerror(code).map { text in String(cString: text).lowercased() } ?? "error \(code)"
  }
}
