// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// An error of a system call on a file.
package struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the call.
  package let operation: String
  package let path: String
  /// Its `errno`.
  package let code: Int32

  package init(_ operation: String, _ path: String, _ code: Int32 = errno) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  package var description: String {
    "\(operation) failed at \(path): \(SystemMessage.text(for: code)) (errno \(code))"
  }
}
