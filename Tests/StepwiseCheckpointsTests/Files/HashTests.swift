// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseFiles
import Testing

@Suite struct HashTests {
  @Test func `The checksum matches its definition`() {
    // The check value of CRC-64/XZ.
    #expect(crc(Array("123456789".utf8)) == 0x995d_c9bb_df19_39fa)
    #expect(crc([]) == 0)
  }

  @Test func `The checksum matches one computed bit by bit`() {
    var random = SystemRandomNumberGenerator()
    for count in 0..<100 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      var naive = ~UInt64(0)
      for byte in bytes {
        naive ^= UInt64(byte)
        for _ in 0..<8 { naive = naive & 1 == 1 ? (naive >> 1) ^ 0xc96c_5795_d787_0f42 : naive >> 1 }
      }
      #expect(crc(bytes) == ~naive)
      var parts = CRC64()
      parts.update(bytes.prefix(count / 3))
      parts.update(bytes.dropFirst(count / 3))
      #expect(parts.value == ~naive)
    }
  }

  /// The examples that NIST publishes for FIPS 180-4.
  @Test(
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ]
  )
  func `The hash matches its definition`(text: String, hash: String) {
    #expect(SHA256.hex(Array(text.utf8)) == hash)
  }

  private func crc(_ bytes: [UInt8]) -> UInt64 {
    var sum = CRC64()
    sum.update(bytes)
    return sum.value
  }

  @Test func `Hashing in pieces gives the hash of the whole`() {
    let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for size in [1, 55, 56, 63, 64, 65, 128, 999] {
      var sum = SHA256()
      for start in stride(from: 0, to: bytes.count, by: size) {
        sum.update(Array(bytes[start..<min(start + size, bytes.count)]))
      }
      #expect(sum.hex() == SHA256.hex(bytes))
    }
  }
}
