// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An error of the system for a socket operation.
package struct SocketError: Error, CustomStringConvertible {
  package let description: String

  /// Creates an error from the failed operation and the system's current error.
  init(_ what: String) {
    let code = errno
    description = "\(what): \(strerror(code).map { String(cString: $0) } ?? "error \(code)")"
  }
}
