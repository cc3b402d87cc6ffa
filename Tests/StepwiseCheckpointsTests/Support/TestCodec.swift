// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

@testable import StepwiseCheckpoints

/// An error of a codec.
struct CodecFailure: Error, CustomStringConvertible {
  let description: String
}

extension PayloadCodec {
  /// A codec that hides payloads from a search, and notices those of another key.
  static func masking(_ name: String, key: UInt8 = 0x5a) -> PayloadCodec {
    PayloadCodec(name: name) { bytes in
      [key] + bytes.map { $0 ^ key }
    } decode: { bytes in
      guard bytes.first == key else { throw CodecFailure(description: "the key is another one") }
      return bytes.dropFirst().map { $0 ^ key }
    }
  }
}

extension [UInt8] {
  /// Whether a text is among the bytes.
  func contains(text: String) -> Bool {
    let word = Array(text.utf8)
    return indices.contains { self[$0...].starts(with: word) }
  }
}
