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
  import Glibc

  /// SHA-256 as OpenSSL's libcrypto computes it, with the processor's own instructions.
  ///
  /// libcurl loads the library for TLS, so it is already in the process. It is accessed at run time: nothing has to be
  /// installed, and ``init()`` returns nil without it.
  struct LibcryptoSHA256: ~Copyable {
    private let functions: Functions
    private let context: UnsafeMutableRawPointer

    init?() {
      guard let functions = Functions.loaded, let context = functions.new() else { return nil }
      guard functions.begin(context, functions.sha256(), nil) == 1 else {
        functions.free(context)
        return nil
      }
      self.functions = functions
      self.context = context
    }

    deinit { functions.free(context) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
      _ = functions.update(context, bytes.baseAddress, bytes.count)
    }

    /// The 32 bytes of the hash; nothing may be added afterwards.
    mutating func finish() -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
        var length: UInt32 = 0
        _ = functions.end(context, buffer.baseAddress, &length)
        count = Int(length)
      }
    }
  }

  extension LibcryptoSHA256 {
    /// The functions of libcrypto, as `openssl/evp.h` declares them.
    private struct Functions: Sendable {
      typealias New = @convention(c) () -> UnsafeMutableRawPointer?
      typealias Free = @convention(c) (UnsafeMutableRawPointer?) -> Void
      typealias Kind = @convention(c) () -> UnsafeRawPointer?
      typealias Begin = @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?) -> Int32
      typealias Update = @convention(c) (UnsafeMutableRawPointer?, UnsafeRawPointer?, Int) -> Int32
      typealias End =
        @convention(c) (UnsafeMutableRawPointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt32>?)
        -> Int32

      let new: New
      let free: Free
      let sha256: Kind
      let begin: Begin
      let update: Update
      let end: End

      static let loaded = Functions()

      private init?() {
        let names = ["libcrypto.so.3", "libcrypto.so.1.1"]
        guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW | RTLD_LOCAL) }).first,
          let new = dlsym(library, "EVP_MD_CTX_new"), let free = dlsym(library, "EVP_MD_CTX_free"),
          let sha256 = dlsym(library, "EVP_sha256"), let begin = dlsym(library, "EVP_DigestInit_ex"),
          let update = dlsym(library, "EVP_DigestUpdate"), let end = dlsym(library, "EVP_DigestFinal_ex")
        else { return nil }
        self.new = unsafeBitCast(new, to: New.self)
        self.free = unsafeBitCast(free, to: Free.self)
        self.sha256 = unsafeBitCast(sha256, to: Kind.self)
        self.begin = unsafeBitCast(begin, to: Begin.self)
        self.update = unsafeBitCast(update, to: Update.self)
        self.end = unsafeBitCast(end, to: End.self)
      }
    }
  }
#endif
