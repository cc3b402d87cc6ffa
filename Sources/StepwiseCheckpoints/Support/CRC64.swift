// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The checksum CRC-64/XZ: the polynomial of ECMA-182, reflected, as the .xz file format 1.0.4 (section 6) defines it.
///
/// It detects every error that is confined to 64 consecutive bits, and all but one in 2^64 of the others.
package struct CRC64: Sendable {
  private var state = ~UInt64(0)

  package init() {}

  package var value: UInt64 { ~state }

  mutating func update(_ number: UInt64) {
    update(number.bigEndianBytes)
  }

  package mutating func update(_ bytes: some Collection<UInt8>) {
    let isDone: Void? = bytes.withContiguousStorageIfAvailable { update(UnsafeRawBufferPointer($0)) }
    if isDone == nil { Array(bytes).withUnsafeBytes { update($0) } }
  }

  /// Processes eight bytes at a time, each with its own table.
  private mutating func update(_ bytes: UnsafeRawBufferPointer) {
    state = Self.tables.withUnsafeBufferPointer { table in
      var state = state
      var offset = 0
      while bytes.count - offset >= 8 {
        let word = state ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        var sum = table[Int(word >> 56)]
        for index in 0..<7 { sum ^= table[(7 - index) * 256 + Int((word >> (8 * index)) & 0xff)] }
        state = sum
        offset += 8
      }
      while offset < bytes.count {
        state = table[Int((state ^ UInt64(bytes[offset])) & 0xff)] ^ (state >> 8)
        offset += 1
      }
      return state
    }
  }

  /// Entry `256 * k + b` is the value for the byte `b` followed by `k` zero bytes.
  private static let tables: [UInt64] = {
    var tables: [UInt64] = []
    for byte in 0..<256 {
      var rest = UInt64(byte)
      for _ in 0..<8 { rest = rest & 1 == 1 ? (rest >> 1) ^ 0xc96c_5795_d787_0f42 : rest >> 1 }
      tables.append(rest)
    }
    for index in 256..<2048 {
      let previous = tables[index - 256]
      tables.append(tables[Int(previous & 0xff)] ^ (previous >> 8))
    }
    return tables
  }()
}

extension FixedWidthInteger {
  /// The bytes of the number, most significant first.
  var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

  /// Creates the number from its bytes, most significant first.
  init(bigEndianBytes bytes: some Sequence<UInt8>) {
    self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
  }
}
