// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(CryptoKit)
  import CryptoKit
#elseif canImport(Glibc)
  import Glibc
#endif

/// SHA-256 of bytes that come in pieces, computed by the system where it offers that, so debug builds are fast, too.
package struct SystemSHA256: ~Copyable {
  #if canImport(CryptoKit)
    private var hash = CryptoKit.SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { hash.update(bufferPointer: bytes) }

    /// The hash in lowercase hexadecimal; nothing may be added afterwards.
    package mutating func hex() -> String { Self.hex(Array(hash.finalize())) }
  #else
    #if canImport(Glibc)
      private var system = LibcryptoSHA256()
    #endif
    private var own = StepwiseFiles.SHA256()

    package init() {}

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
      #if canImport(Glibc)
        if system != nil {
          system?.update(bytes)
          return
        }
      #endif
      own.update(Array(bytes))
    }

    /// The hash in lowercase hexadecimal; nothing may be added afterwards.
    package mutating func hex() -> String {
      #if canImport(Glibc)
        if let bytes = system?.finish() { return Self.hex(bytes) }
      #endif
      return own.hex()
    }
  #endif

  private static func hex(_ bytes: [UInt8]) -> String { bytes.map(StepwiseFiles.SHA256.hexadecimal).joined() }
}

#if canImport(Glibc)
  /// SHA-256 as OpenSSL's libcrypto computes it, with the processor's own instructions.
  ///
  /// libcurl loads the library for TLS, so it is already in the process. It is accessed at run time: nothing has to be
  /// installed, and ``init()`` returns nil without it.
  struct LibcryptoSHA256 {
    private typealias Begin = @convention(c) (UnsafeMutableRawPointer) -> Int32
    private typealias Update = @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Int32
    private typealias End = @convention(c) (UnsafeMutablePointer<UInt8>?, UnsafeMutableRawPointer) -> Int32

    private static let functions: (begin: Begin, update: Update, end: End)? = {
      let names = ["libcrypto.so.3", "libcrypto.so.1.1"]
      guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first,
        let begin = dlsym(library, "SHA256_Init"), let update = dlsym(library, "SHA256_Update"),
        let end = dlsym(library, "SHA256_Final")
      else { return nil }
      return (
        unsafeBitCast(begin, to: Begin.self), unsafeBitCast(update, to: Update.self), unsafeBitCast(end, to: End.self)
      )
    }()

    /// The library's `SHA256_CTX`, which has 112 bytes.
    private var context = [UInt64](repeating: 0, count: 14)

    init?() {
      guard Self.functions?.begin(&context) == 1 else { return nil }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
      _ = Self.functions?.update(&context, bytes.baseAddress, bytes.count)
    }

    /// The 32 bytes of the hash; nothing may be added afterwards.
    mutating func finish() -> [UInt8] {
      var hash = [UInt8](repeating: 0, count: 32)
      _ = Self.functions?.end(&hash, &context)
      return hash
    }
  }
#endif
