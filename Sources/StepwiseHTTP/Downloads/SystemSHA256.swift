// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(CryptoKit)
  import CryptoKit
#else
  import Foundation
#endif

/// SHA-256 of bytes that come in pieces, computed by the system where it offers that, so debug builds are fast, too.
///
/// On Linux that is OpenSSL's libcrypto, which libcurl loads for TLS.
struct SystemSHA256: ~Copyable {
  #if canImport(CryptoKit)
    private var hash = CryptoKit.SHA256()

    mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { hash.update(bufferPointer: $0) } }

    /// The hash in lowercase hexadecimal; nothing may be added afterwards.
    func hex() -> String { StepwiseFiles.SHA256.hexadecimal(Array(hash.finalize())) }
  #else
    private typealias Begin = @convention(c) (UnsafeMutableRawPointer) -> Int32
    private typealias Update = @convention(c) (UnsafeMutableRawPointer, UnsafeRawPointer?, Int) -> Int32
    private typealias End = @convention(c) (UnsafeMutablePointer<UInt8>?, UnsafeMutableRawPointer) -> Int32

    private static let libraries = ("libcrypto.so.3", "libcrypto.so.1.1")
    private static let begin: Begin? = systemFunction("SHA256_Init", in: libraries.0, libraries.1)
    private static let update: Update? = systemFunction("SHA256_Update", in: libraries.0, libraries.1)
    private static let end: End? = systemFunction("SHA256_Final", in: libraries.0, libraries.1)
    static var isSystems: Bool { begin != nil && update != nil && end != nil }

    /// The library's `SHA256_CTX`, which has 112 bytes.
    private var context = [UInt64](repeating: 0, count: 14)
    private var own = StepwiseFiles.SHA256()

    init() { _ = Self.begin?(&context) }

    mutating func update(_ bytes: [UInt8]) {
      if Self.isSystems { _ = Self.update?(&context, bytes, bytes.count) } else { own.update(bytes) }
    }

    /// The hash in lowercase hexadecimal; nothing may be added afterwards.
    mutating func hex() -> String {
      guard Self.isSystems else { return own.hex() }
      var hash = [UInt8](repeating: 0, count: 32)
      _ = Self.end?(&hash, &context)
      return StepwiseFiles.SHA256.hexadecimal(hash)
    }
  #endif
}

#if os(Linux) || os(Android)
  /// Returns a function of one of the system's libraries, which is loaded at run time; nil where there is none.
  func systemFunction<Function>(_ name: String, in libraries: String...) -> Function? {
    for library in libraries {
      guard let library = dlopen(library, RTLD_NOW | RTLD_LOCAL), let function = dlsym(library, name) else { continue }
      // Safety: a function of C is a pointer, and the caller names its type as the library documents it.
      return unsafeBitCast(function, to: Function.self)
    }
    return nil
  }
#endif
