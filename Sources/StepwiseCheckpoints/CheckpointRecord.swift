// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a store holds under an id: the last stage, and the data to resume from it safely.
///
/// You meet it only when you write a store.
public struct CheckpointRecord: Sendable, Hashable {
  /// The id.
  public var id: String

  /// The name of the progression's type.
  public var progression: String

  /// The version of the stored shape of the stages; 0 for a progression that declares none.
  public var schemaVersion: Int

  /// The number of stages saved under the id, including this one.
  ///
  /// Each save increments it by one.
  public var version: UInt64

  /// The first stage of the first run, encoded.
  ///
  /// Each save stores it with the last stage, so a small first stage, such as a path instead of its content, makes
  /// saves small.
  public var first: [UInt8]

  /// The last stage, encoded.
  public var stage: [UInt8]

  /// The checksum of all other properties.
  ///
  /// Store it unchanged: it detects a corrupted record.
  public var checksum: UInt64

  /// Creates a record with its checksum.
  ///
  /// - Parameters:
  ///   - id: The id.
  ///   - progression: The name of the progression's type.
  ///   - schemaVersion: The version of the stored shape.
  ///   - version: The number of stages saved, including this one.
  ///   - first: The first stage of the first run, encoded.
  ///   - stage: The last stage, encoded.
  public init(
    id: String,
    progression: String,
    schemaVersion: Int,
    version: UInt64,
    first: [UInt8],
    stage: [UInt8]
  ) {
    self.id = id
    self.progression = progression
    self.schemaVersion = schemaVersion
    self.version = version
    self.first = first
    self.stage = stage
    checksum = 0
    checksum = actualChecksum
  }

  /// Returns the record with one more entry.
  func appending(_ entry: [UInt8]) -> CheckpointRecord {
    CheckpointRecord(
      id: id,
      progression: progression,
      schemaVersion: schemaVersion,
      version: version + 1,
      first: first,
      stage: stage + CheckpointEntries.bytes(of: entry)
    )
  }

  /// A Boolean value that indicates whether the record is unchanged since it was created.
  public var isIntact: Bool { checksum == actualChecksum }

  /// Returns a Boolean value that indicates whether two records have the same bytes.
  ///
  /// Ids and names that are only canonically equivalent in Unicode are different.
  public static func == (one: CheckpointRecord, other: CheckpointRecord) -> Bool {
    one.version == other.version && one.schemaVersion == other.schemaVersion && one.checksum == other.checksum
      && one.first == other.first && one.stage == other.stage && one.id.utf8.elementsEqual(other.id.utf8)
      && one.progression.utf8.elementsEqual(other.progression.utf8)
  }

  /// Hashes the checksum, which covers everything.
  public func hash(into hasher: inout Hasher) { hasher.combine(checksum) }

  private var actualChecksum: UInt64 {
    var sum = CRC64()
    for text in [id, progression] {
      sum.update(UInt64(text.utf8.count))
      sum.update(Array(text.utf8))
    }
    sum.update(UInt64(bitPattern: Int64(schemaVersion)))
    sum.update(version)
    for bytes in [first, stage] {
      sum.update(UInt64(bytes.count))
      sum.update(bytes)
    }
    return sum.value
  }
}

/// An id that can be stored.
///
/// Ids are compared by their bytes, not by Unicode equivalence.
package struct CheckpointID: Hashable, Comparable, Sendable {
  package static let longest = 200

  package let text: String
  package let bytes: [UInt8]

  package init(_ text: String) throws(CheckpointError) {
    self.text = text
    bytes = Array(text.utf8)
    guard !bytes.isEmpty else { throw .invalidID(id: text, reason: "it is empty") }
    guard bytes.count <= Self.longest else {
      throw .invalidID(id: text, reason: "it has \(bytes.count) bytes of UTF-8; the maximum is \(Self.longest)")
    }
  }

  package static func == (one: CheckpointID, other: CheckpointID) -> Bool { one.bytes == other.bytes }

  package static func < (one: CheckpointID, other: CheckpointID) -> Bool {
    one.bytes.lexicographicallyPrecedes(other.bytes)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
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
