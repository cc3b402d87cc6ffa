// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  /// Codecs that behave like an authenticated cipher: the same payload is encoded differently each time, and a codec with
  /// another key throws.
  enum Sealing {
    struct WrongKey: Error {}

    static func codec(_ name: String, key: UInt8 = 0x5a) -> PayloadCodec {
      PayloadCodec(name: name) { bytes in
        let salt = (0..<8).map { _ in UInt8.random(in: 0...255) }
        return salt + masked(bytes, salt, key) + tag(bytes, salt, key)
      } decode: { bytes in
        guard bytes.count >= 16 else { throw WrongKey() }
        let salt = Array(bytes.prefix(8))
        let payload = masked(Array(bytes.dropFirst(8).dropLast(8)), salt, key)
        guard tag(payload, salt, key) == Array(bytes.suffix(8)) else { throw WrongKey() }
        return payload
      }
    }

    /// A codec that encodes no payload which contains a text.
    static func refusing(_ text: String) -> PayloadCodec {
      PayloadCodec(name: "refusing") { bytes in
        if String(decoding: bytes, as: UTF8.self).contains(text) { throw WrongKey() }
        return bytes
      } decode: {
        $0
      }
    }

    private static func masked(_ bytes: [UInt8], _ salt: [UInt8], _ key: UInt8) -> [UInt8] {
      bytes.enumerated().map { $1 ^ salt[$0 % 8] ^ key }
    }

    private static func tag(_ bytes: [UInt8], _ salt: [UInt8], _ key: UInt8) -> [UInt8] {
      let sum = (salt + bytes + [key]).reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
      return (0..<8).map { UInt8(truncatingIfNeeded: sum >> ($0 * 8)) }
    }
  }
#endif
