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

/// Messages and numbers of the operating system.
package enum SystemMessage {
  /// The message of an error number.
  package static func text(for code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "unknown error" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Returns whether the error means that nothing can be written: the disk is full or read-only, or writing is not
  /// permitted.
  package static func cannotWrite(_ code: Int32) -> Bool {
    [EROFS, EACCES, EPERM, ENOSPC, EDQUOT].contains(code)
  }

  /// The error number for an invalid argument.
  package static var invalidArgument: Int32 { EINVAL }

  /// The number of this process.
  package static var processID: Int32 { getpid() }
}
