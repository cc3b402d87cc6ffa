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

  /// Returns the record with further entries.
  func appending(_ entries: [[UInt8]]) -> CheckpointRecord {
    var record = self
    record.version &+= UInt64(entries.count)
    for entry in entries { record.stage += CheckpointEntries.bytes(of: entry) }
    record.checksum = record.actualChecksum
    return record
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

  /// How the checksum differs from that of the content; 0 for an intact record.
  var checksumDifference: UInt64 {
    get { checksum ^ actualChecksum }
    set { checksum = actualChecksum ^ newValue }
  }

  /// Returns an intact record with other payloads.
  func replacing(first: [UInt8], stage: [UInt8]) -> CheckpointRecord {
    CheckpointRecord(
      id: id,
      progression: progression,
      schemaVersion: schemaVersion,
      version: version,
      first: first,
      stage: stage
    )
  }

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

extension CheckpointRecord {
  /// Checks that the record is intact, and that it belongs to an id and a progression.
  func check(id: String, progression name: String, at location: String) throws(CheckpointError) {
    func damaged(_ reason: String) -> CheckpointError { .damaged(id: id, location: location, reason: reason) }
    guard isIntact else { throw damaged("its checksum does not match its content") }
    guard self.id.utf8.elementsEqual(id.utf8) else { throw damaged("it was stored under the id \"\(self.id)\"") }
    guard version < .max else { throw damaged("its stage counter has no successor") }
    guard progression == name else {
      throw .foreignType(id: id, location: location, stored: progression, expected: name)
    }
    if let codec { throw .unknownCodec(id: id, location: location, codec: codec) }
  }
}

/// The entries that were appended to a record: each with its length, four bytes, most significant first.
enum CheckpointEntries {
  static func bytes(of entry: [UInt8]) -> [UInt8] { UInt32(entry.count).bigEndianBytes + entry }

  static func entries(in bytes: [UInt8]) throws(DataError) -> [[UInt8]] {
    var reader = ByteReader(bytes)
    var entries: [[UInt8]] = []
    while !reader.isAtEnd {
      guard let entry = try? reader.bytes(UInt32.self) else { throw DataError(reason: "its last entry is truncated") }
      entries.append(entry)
    }
    return entries
  }
}

/// An id that can be stored.
///
/// Ids are compared by their bytes, not by Unicode equivalence.
package struct CheckpointID: Hashable, Comparable, Sendable {
  package static let longest = 200

  package let bytes: [UInt8]

  package init(_ text: String) throws(CheckpointError) {
    bytes = Array(text.utf8)
    guard !bytes.isEmpty else { throw .invalidID(id: text, reason: "it is empty") }
    guard bytes.count <= Self.longest else {
      throw .invalidID(id: text, reason: "it has \(bytes.count) bytes of UTF-8; the maximum is \(Self.longest)")
    }
  }

  package var text: String { String(decoding: bytes, as: UTF8.self) }

  package static func < (one: CheckpointID, other: CheckpointID) -> Bool {
    one.bytes.lexicographicallyPrecedes(other.bytes)
  }
}
