// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a store keeps under an id: the stage that was reached, and what is needed to go on from it safely.
public struct CheckpointRecord: Sendable, Hashable {
  /// The id.
  public var id: String

  /// The name of the progression's type.
  public var progression: String

  /// The version of the shape in which the stages are stored; 0 for a progression that declares none.
  public var schemaVersion: Int

  /// How many stages were saved under the id, this one included.
  ///
  /// It counts up by one with each save.
  public var version: UInt64

  /// The stage that the first run began with, encoded.
  ///
  /// Each save keeps it beside the last stage: a small first stage, such as a path instead of a content, makes small saves.
  public var first: [UInt8]

  /// The last stage that was reached, encoded.
  public var stage: [UInt8]

  /// The checksum of all that.
  ///
  /// A store keeps it as it is, so that a record that a store tore is recognised.
  public var checksum: UInt64

  /// Makes a record with its checksum.
  ///
  /// - Parameters:
  ///   - id: The id.
  ///   - progression: The name of the progression's type.
  ///   - schemaVersion: The version of the stored shape.
  ///   - version: How many stages were saved, this one included.
  ///   - first: The stage that the first run began with, encoded.
  ///   - stage: The last stage that was reached, encoded.
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

  /// Whether the record is as it was made.
  public var isIntact: Bool { checksum == actualChecksum }

  /// Two records are the same when their bytes are; ids and names that only Unicode takes for equal are not.
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
