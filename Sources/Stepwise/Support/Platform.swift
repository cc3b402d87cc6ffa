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

  /// Writes a line to standard error in one call.
  package static func reportToStandardError(_ line: String) {
    var line = line + "\n"
    line.withUTF8 { bytes in
      _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
    }
  }

  /// Starts a thread that ends with the body; returns false when it could not.
  package static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    let argument = Unmanaged.passRetained(Box(body))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Darwin) || canImport(Musl)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    // The argument of the function is optional on some platforms.
    let code = pthread_create(
      &thread,
      &attributes,
      { argument in
        let argument: UnsafeMutableRawPointer? = argument
        if let argument { Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(argument).takeRetainedValue().value() }
        return nil
      },
      argument.toOpaque()
    )
    if code != 0 { argument.release() }
    return code == 0
  }
}
