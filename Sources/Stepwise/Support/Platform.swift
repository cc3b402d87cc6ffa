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

/// Functions of the C library that the standard library does not offer.
package enum Platform {
  /// An identifier of the calling thread, unique among running threads.
  package static var currentThread: UInt {
    #if canImport(Glibc) || canImport(Android)
      UInt(pthread_self())
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  /// An identifier of the current task, unique among running tasks; 0 outside of tasks.
  package static var currentTask: Int { withUnsafeCurrentTask { $0?.hashValue } ?? 0 }

  /// Writes a line to standard error in one call.
  package static func reportToStandardError(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { bytes in
      _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }
}
