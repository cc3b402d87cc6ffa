// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Why the system refused a socket.
package struct SocketError: Error, CustomStringConvertible {
  package let description: String

  /// Creates an error from what was wanted and the reason that the system just gave.
  init(_ what: String) {
    let code = errno
    description = "\(what): \(strerror(code).map { String(cString: $0) } ?? "error \(code)")"
  }
}
