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

/// The two things that the standard library does not offer, from the C library.
package enum Platform {
  /// Identifies the calling thread among those that are running.
  package static var currentThread: UInt {
    #if canImport(Glibc) || canImport(Android)
      UInt(pthread_self())
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// Writes a line to standard error in one piece.
  package static func reportToStandardError(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { bytes in
      _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }
}
