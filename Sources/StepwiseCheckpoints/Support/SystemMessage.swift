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
enum SystemMessage {
  /// The message of an error number.
  static func of(_ code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "unknown error" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Whether it is the answer to somebody who may only read.
  static func isNotPermitted(_ code: Int32) -> Bool { code == EROFS || code == EACCES }

  /// The number of this process.
  static var processID: Int32 { getpid() }
}
