// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why data cannot be stored, or why stored data cannot be read.
package struct DataError: Error {
  package let reason: String
}

/// Reads stored bytes from their start; allocates no more than there are bytes.
struct ByteReader {
  private(set) var rest: ArraySlice<UInt8>

  init(_ bytes: some Collection<UInt8>) { rest = ArraySlice(bytes) }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ count: Int) throws(DataError) -> ArraySlice<UInt8> {
    guard count <= rest.count else { throw DataError(reason: "it is truncated") }
    defer { rest.removeFirst(count) }
    return rest.prefix(count)
  }

  mutating func byte() throws(DataError) -> UInt8 {
    guard let byte = rest.popFirst() else { throw DataError(reason: "it is truncated") }
    return byte
  }

  // MARK: - Numbers of a fixed width

  /// Reads a number, most significant byte first.
  mutating func number<Number: FixedWidthInteger>(_ type: Number.Type) throws(DataError) -> Number {
    Number(bigEndianBytes: try take(Number.bitWidth / 8))
  }

  /// Reads bytes that are preceded by their number.
  mutating func bytes<Length: FixedWidthInteger>(_ type: Length.Type) throws(DataError) -> [UInt8] {
    guard let count = Int(exactly: try number(Length.self)) else {
      throw DataError(reason: "it contains an impossible length")
    }
    return Array(try take(count))
  }

  mutating func text<Length: FixedWidthInteger>(_ type: Length.Type) throws(DataError) -> String {
    try String(stored: bytes(Length.self))
  }

  // MARK: - Fields

  mutating func read<Field: StoredField>(_ type: Field.Type = Field.self) throws(DataError) -> Field {
    try Field(reading: &self)
  }
}

/// A field of what a durable run stores.
///
/// Numbers have seven bits a byte, least significant first. Texts and values are preceded by their length, and what may
/// be missing by 0 or 1.
protocol StoredField {
  func write(to bytes: inout [UInt8])
  init(reading reader: inout ByteReader) throws(DataError)
}

extension [UInt8] {
  /// Appends fields, one after the other.
  mutating func write<each Field: StoredField>(_ field: repeat each Field) {
    repeat (each field).write(to: &self)
  }
}

extension Int: StoredField {
  func write(to bytes: inout [UInt8]) {
    var rest = UInt64(bitPattern: Int64(self))
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  init(reading reader: inout ByteReader) throws(DataError) {
    var (result, shift): (UInt64, UInt64) = (0, 0)
    while true {
      let byte = try reader.byte()
      guard shift < 63 || byte <= 1 else { throw DataError(reason: "it contains an impossible number") }
      result |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { break }
      shift += 7
    }
    guard let number = Int(exactly: result) else { throw DataError(reason: "it contains an impossible number") }
    self = number
  }
}

extension [UInt8]: StoredField {
  func write(to bytes: inout [UInt8]) {
    count.write(to: &bytes)
    bytes += self
  }

  init(reading reader: inout ByteReader) throws(DataError) { self = Array(try reader.take(reader.read(Int.self))) }
}

extension String: StoredField {
  func write(to bytes: inout [UInt8]) {
    utf8.count.write(to: &bytes)
    bytes += utf8
  }

  init(reading reader: inout ByteReader) throws(DataError) { try self.init(stored: reader.read()) }

  fileprivate init(stored bytes: [UInt8]) throws(DataError) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw DataError(reason: "it contains a name that is not UTF-8")
    }
    self = text
  }
}

extension Optional: StoredField where Wrapped: StoredField {
  func write(to bytes: inout [UInt8]) {
    bytes.write(self == nil ? 0 : 1)
    self?.write(to: &bytes)
  }

  init(reading reader: inout ByteReader) throws(DataError) {
    self = try reader.read(Int.self) == 0 ? nil : reader.read(Wrapped.self)
  }
}

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
  package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }

  /// Creates the number from its bytes, most significant first.
  package init(bigEndianBytes bytes: some Sequence<UInt8>) {
    self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
  }
}
