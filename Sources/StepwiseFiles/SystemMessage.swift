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

/// What the operating system says.
package enum SystemMessage {
  /// The message of an error number.
  package static func text(for code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "unknown error" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Whether nothing can be written: the disk is full or read-only, or its owner does not permit it.
  package static func cannotWrite(_ code: Int32) -> Bool {
    [EROFS, EACCES, EPERM, ENOSPC, EDQUOT].contains(code)
  }

  /// The error number of an argument that makes no sense.
  package static var invalidArgument: Int32 { EINVAL }

  /// The number of this process.
  package static var processID: Int32 { getpid() }
}
