// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(CryptoKit)
  import CryptoKit
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
