// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a durable run began.
struct DurableStart: Sendable, Equatable {
  /// Random, so that a run that is started again under its id has other idempotency keys.
  let identity: String
  let version: Int
  /// The input, encoded.
  let input: [UInt8]

  /// The format of what durable runs store, which grows when an event has other fields.
  static let format = 2

  static func newIdentity() -> String {
    var random = SystemRandomNumberGenerator()
    let digits = Array("0123456789abcdefghijklmnopqrstuv")
    return String((0..<26).map { _ in digits[Int.random(in: 0..<32, using: &random)] })
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    bytes.write(Self.format, identity, version, input)
    return bytes
  }
}

extension DurableStart {
  /// Returns the format of the bytes of a run of any format.
  static func format(of bytes: [UInt8]) throws(DataError) -> Int {
    var reader = ByteReader(bytes)
    return try reader.read()
  }

  /// Reads how a run of the current format began.
  init(_ bytes: [UInt8]) throws(DataError) {
    var reader = ByteReader(bytes)
    let _: Int = try reader.read()
    self.init(identity: try reader.read(), version: try reader.read(), input: try reader.read())
  }
}

/// A durable run as a store holds it.
struct DurableRecord {
  let start: DurableStart
  /// The version of the record.
  let version: UInt64
  let events: [DurableEvent]
  let log: DurableLog

  /// The name of a durable chain in records.
  static func name(_ chain: String) -> String { String.storedChainPrefix + chain }

  /// The chain that a record belongs to; nil for a progression.
  static func chain(of record: CheckpointRecord) -> String? { record.progression.storedChain }

  /// Reads a record.
  ///
  /// - Throws: `CheckpointError` when it is damaged, has another format or belongs to something else.
  init(_ record: CheckpointRecord, of chain: String, at location: String) throws(CheckpointError) {
    try record.check(id: record.id, progression: Self.name(chain), at: location)
    let (id, known) = (record.id, DurableStart.format)
    let stored: Int
    do {
      let format = try DurableStart.format(of: record.first)
      if format == known {
        var events: [DurableEvent] = []
        for entry in try CheckpointEntries.entries(in: record.stage) { events += try DurableEvent.events(in: entry) }
        self.init(start: try DurableStart(record.first), version: record.version, events)
        return
      }
      stored = format
    } catch {
      throw .damaged(id: id, location: location, reason: error.reason)
    }
    guard stored > known else { throw .olderFormat(id: id, location: location, format: stored, known: known) }
    throw .newerFormat(id: id, location: location, format: stored, known: known)
  }

  init(start: DurableStart, version: UInt64, _ events: [DurableEvent] = []) {
    self.start = start
    self.version = version
    self.events = events
    log = DurableLog(events)
  }
}

extension CheckpointRecord {
  /// Creates the record of a durable run.
  init(id: String, name: String, _ start: DurableStart, version: UInt64, entries: [[UInt8]]) {
    let stage = entries.flatMap { CheckpointEntries.bytes(of: $0) }
    self.init(id: id, progression: name, schemaVersion: 0, version: version, first: start.bytes, stage: stage)
  }

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

extension CheckpointStore {
  /// Cancels a durable run that is not in progress, or gives up what it has not undone.
  ///
  /// - Parameters:
  ///   - event: `cancelled` or `abandoned`.
  ///   - id: The id of the run.
  ///   - chain: The name of its chain; nil for any.
  /// - Returns: Whether the event has changed anything.
  /// - Throws: `CheckpointError` when the store holds no such run, or a run holds the id; an error of the store.
  package func append(_ event: DurableEvent, to id: String, of chain: String? = nil) async throws -> Bool {
    let holder = try await LeaseHolder(id, of: self, LeaseClock(ContinuousClock()))
    guard let record = try await load(id) else {
      throw CheckpointError.notStarted(id: id, location: location(of: id))
    }
    let name = chain ?? DurableRecord.chain(of: record) ?? ""
    let log = try DurableRecord(record, of: name, at: location(of: id)).log
    let isNeeded = if case .cancelled = event { log.phase == .running && !log.isEnded } else { !log.isEnded }
    if isNeeded { try await append(DurableEvent.bytes(of: [event]), ifVersionIs: record.version, under: holder.lease) }
    await holder.release()
    return isNeeded
  }
}

extension String {
  /// What the names of durable chains begin with where they are stored; no type has such a name.
  fileprivate static let storedChainPrefix = "chain "

  /// The chain whose runs are stored under this name; nil for a progression.
  package var storedChain: String? {
    namesChain ? String(dropFirst(Self.storedChainPrefix.count)) : nil
  }

  /// Whether runs of a chain are stored under this name, as opposed to a progression.
  package var namesChain: Bool { utf8.starts(with: Self.storedChainPrefix.utf8) }
}
