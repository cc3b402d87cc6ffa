// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a durable run began.
struct DurableStart: Sendable, Equatable {
  /// Random, so that a run that is started again under its id has other idempotency keys.
  let identity: String
  let version: Int
  /// The input, encoded.
  let input: [UInt8]

  static func newIdentity() -> String {
    var random = SystemRandomNumberGenerator()
    let digits = Array("0123456789abcdefghijklmnopqrstuv")
    return String((0..<26).map { _ in digits[Int.random(in: 0..<32, using: &random)] })
  }

  var bytes: [UInt8] {
    var writer = DurableWriter()
    writer.number(1)
    writer.text(identity)
    writer.number(version)
    writer.value(input)
    return writer.bytes
  }

  init(identity: String, version: Int, input: [UInt8]) {
    self.identity = identity
    self.version = version
    self.input = input
  }

  init(_ bytes: [UInt8]) throws(DurableFormatError) {
    var reader = DurableReader(bytes)
    let format = try reader.number()
    guard format == 1 else { throw DurableFormatError(reason: "it has format \(format) of durable runs") }
    self.init(identity: try reader.text(), version: try reader.number(), input: try reader.value())
  }
}

/// What a store holds of a durable run.
struct DurableRecord {
  let start: DurableStart
  let events: [DurableEvent]

  /// What the names of durable chains in records begin with; no type has such a name.
  private static let prefix = "chain "

  /// The name of a durable chain in records.
  static func name(_ chain: String) -> String { prefix + chain }

  /// The chain that a record belongs to; nil for a progression.
  static func chain(of record: CheckpointRecord) -> String? {
    record.progression.hasPrefix(prefix) ? String(record.progression.dropFirst(prefix.count)) : nil
  }

  /// Reads a record.
  ///
  /// - Throws: `CheckpointError` when it is damaged or belongs to something else.
  init(_ record: CheckpointRecord, of chain: String, at location: String) throws(CheckpointError) {
    let id = record.id
    guard record.isIntact else {
      throw .damaged(id: id, location: location, reason: "its checksum does not match its content")
    }
    guard record.progression == Self.name(chain) else {
      throw .foreignType(id: id, location: location, stored: record.progression, expected: Self.name(chain))
    }
    do {
      start = try DurableStart(record.first)
      var events: [DurableEvent] = []
      for entry in try CheckpointEntries.entries(in: record.stage) { events += try DurableEvent.events(in: entry) }
      self.events = events
    } catch {
      throw .damaged(id: id, location: location, reason: error.reason)
    }
  }

  /// Returns the record of a run.
  static func record(
    id: String,
    name: String,
    _ start: DurableStart,
    version: UInt64,
    _ events: [DurableEvent]
  ) -> CheckpointRecord {
    CheckpointRecord(
      id: id,
      progression: Self.name(name),
      schemaVersion: 0,
      version: version,
      first: start.bytes,
      stage: events.isEmpty ? [] : CheckpointEntries.bytes(of: DurableEvent.bytes(of: events))
    )
  }
}

extension CheckpointRecord {
  /// The name of a chain and what its durable run has stored; nil for a progression.
  ///
  /// - Throws: `CheckpointError` when the record is damaged.
  package func durableRun(
    at location: String
  ) throws(CheckpointError) -> (chain: String, version: Int, events: [DurableEvent])? {
    guard let chain = DurableRecord.chain(of: self) else { return nil }
    let stored = try DurableRecord(self, of: chain, at: location)
    return (chain, stored.start.version, stored.events)
  }
}

/// The entries that were appended to a record: each with its length, four bytes, most significant first.
enum CheckpointEntries {
  static func bytes(of entry: [UInt8]) -> [UInt8] { UInt32(entry.count).bigEndianBytes + entry }

  static func entries(in bytes: [UInt8]) throws(DurableFormatError) -> [ArraySlice<UInt8>] {
    var rest = bytes[...]
    var entries: [ArraySlice<UInt8>] = []
    while !rest.isEmpty {
      let length = rest.count < 4 ? Int.max : Int(UInt32(bigEndianBytes: rest.prefix(4)))
      guard length <= rest.count - 4 else { throw DurableFormatError(reason: "its last entry is truncated") }
      entries.append(rest.dropFirst(4).prefix(length))
      rest = rest.dropFirst(4 + length)
    }
    return entries
  }
}
