// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A progression that runs under an id: what a run does between one stage and the next.
struct CheckpointedRun<P: Progression & Codable>: Sendable {
  /// A stage that is saved.
  struct Position: Sendable {
    let stage: P
    let version: UInt64
    /// The first stage of all, encoded in this version of the shape.
    let first: [UInt8]
    let holder: LeaseHolder
    let watch: StuckWatch<P>
  }

  let start: P
  let id: String
  let store: any CheckpointStore
  let watch: StuckWatch<P>
  let coder = StageCoder<P>()

  init(_ start: P, id: String, store: any CheckpointStore, watch: StuckWatch<P>) {
    self.watch = watch
    self.start = start
    self.id = id
    self.store = store
  }

  /// Runs to the end.
  @concurrent
  func result() async throws -> P.Result {
    var position = try await begin()
    while true {
      if let result = position.stage.result { return result }
      position = try await advance(from: position)
    }
  }

  /// Takes the lease and gives the stage that was last saved; saves the first one if none was.
  ///
  /// When that is the last stage, or something fails, the id is free again.
  @concurrent
  func begin() async throws -> Position {
    try Task.checkCancellation()
    let holder = LeaseHolder(try await store.acquire(id), of: store)
    return try await holder.releasing(if: { $0.stage.result != nil }) {
      try await position(holder)
    }
  }

  /// Runs the stage and saves the one that it leads to.
  ///
  /// When that is the last stage, or something fails, the id is free again.
  @concurrent
  func advance(from position: Position) async throws -> Position {
    let holder = position.holder
    return try await holder.releasing(if: { $0.stage.result != nil }) {
      try Task.checkCancellation()
      let stage = try await holder.renewing { try await position.stage.next() }
      // From here on nothing is given up because of cancellation: the work of the stage is done.
      return try await save(stage, first: position.first, after: position, holder)
    }
  }

  private func position(_ holder: LeaseHolder) async throws -> Position {
    guard let record = try await store.load(id) else {
      return try await save(start, first: coder.encode(start), after: nil, holder)
    }
    try check(record)
    let stage = try decode(record.stage, record)
    let first =
      record.schemaVersion == coder.schemaVersion ? record.first : try coder.encode(decode(record.first, record))
    return Position(stage: stage, version: record.version, first: first, holder: holder, watch: watch)
  }

  private func save(
    _ stage: P,
    first: [UInt8],
    after position: Position?,
    _ holder: LeaseHolder
  ) async throws -> Position {
    var watch = position?.watch ?? watch
    if let position { try watch.pass(from: position.stage, to: stage) }
    let record = try CheckpointRecord(
      id: id,
      progression: coder.name,
      schemaVersion: coder.schemaVersion,
      version: (position?.version ?? 0) + 1,
      first: first,
      stage: coder.encode(stage)
    )
    try await store.save(record, ifVersionIs: position?.version, under: holder.lease)
    return Position(stage: stage, version: record.version, first: first, holder: holder, watch: watch)
  }

  /// Checks that the record is one of this progression, begun as this one begins.
  private func check(_ record: CheckpointRecord) throws(CheckpointError) {
    let location = store.location(of: id)
    guard record.isIntact else {
      throw .damaged(id: id, location: location, reason: "its checksum is not that of its content")
    }
    guard record.id.utf8.elementsEqual(id.utf8) else {
      throw .damaged(id: id, location: location, reason: "it was stored under the id \"\(record.id)\"")
    }
    guard record.progression == coder.name else {
      throw .foreignType(id: id, location: location, stored: record.progression, expected: coder.name)
    }
    if let start = start as? any Equatable, try differs(start, from: decode(record.first, record)) {
      throw .differentStart(id: id, location: location)
    }
  }

  private func differs<E: Equatable>(_ start: E, from first: P) -> Bool { start != first as? E }

  private func decode(_ bytes: [UInt8], _ record: CheckpointRecord) throws(CheckpointError) -> P {
    do {
      return try coder.decode(bytes, schemaVersion: record.schemaVersion)
    } catch {
      throw .unknownShape(
        id: id,
        location: store.location(of: id),
        schemaVersion: record.schemaVersion,
        reason: error.reason
      )
    }
  }
}
