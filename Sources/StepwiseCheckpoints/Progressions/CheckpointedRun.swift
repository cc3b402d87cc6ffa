// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A progression that runs under an id: the work between one stage and the next.
struct CheckpointedRun<P: Progression & Codable>: Sendable {
  /// A saved stage.
  struct Position: Sendable {
    let stage: P
    let version: UInt64
    /// The first stage of the first run, encoded in this version of the shape.
    let first: [UInt8]
    /// Nil for a last stage that was only read.
    let holder: LeaseHolder?
  }

  let start: P
  let id: String
  let store: any CheckpointStore
  /// The clock for renewals of the lease.
  let clock: LeaseClock
  let coder = StageCoder<P>()

  init(
    _ start: P,
    id: String,
    store: any CheckpointStore,
    clock: LeaseClock = LeaseClock(ContinuousClock())
  ) {
    self.start = start
    self.id = id
    self.store = store
    self.clock = clock
  }

  /// Runs to the last stage.
  @concurrent
  func result() async throws -> P.Result {
    var position = try await begin()
    while true {
      if let result = position.stage.result { return result }
      position = try await advance(from: position)
    }
  }

  /// Acquires the lease and returns the last saved stage; saves the first one if there is none.
  ///
  /// The id is released when that is the last stage, or when an error is thrown.
  @concurrent
  func begin() async throws -> Position {
    try Task.checkCancellation()
    if coder.isAmbiguous {
      throw CheckpointError.ambiguousType(id: id, location: store.location(of: id), name: coder.name)
    }
    let holder: LeaseHolder
    do {
      holder = try await LeaseHolder(id, of: store, clock)
    } catch let error as CheckpointError where error.cannotWrite {
      guard let finished = try await finished() else { throw error }
      return finished
    }
    return try await holder.releasing(if: { $0.stage.result != nil }) {
      try await position(holder)
    }
  }

  /// Runs the stage and saves the next one.
  ///
  /// The id is released when that is the last stage, or when an error is thrown.
  @concurrent
  func advance(from position: Position) async throws -> Position {
    guard let holder = position.holder else {
      throw CheckpointError.lostLease(id: id, location: store.location(of: id))
    }
    return try await holder.releasing(if: { $0.stage.result != nil }) {
      try Task.checkCancellation()
      let stage = try await holder.watching { try await position.stage.next() }
      // Cancellation is ignored from here on, because the work of the stage is done.
      return try await save(stage, first: position.first, after: position, holder)
    }
  }

  private func position(_ holder: LeaseHolder) async throws -> Position {
    guard let record = try await store.load(id) else {
      return try await save(start, first: nil, after: nil, holder)
    }
    return try position(of: record, holder)
  }

  /// The last stage of a completed progression.
  ///
  /// No run replaces it, so it is read without a lease if none can be acquired.
  private func finished() async throws -> Position? {
    guard let record = try await store.load(id) else { return nil }
    let position = try position(of: record, nil)
    return position.stage.result == nil ? nil : position
  }

  private func position(of record: CheckpointRecord, _ holder: LeaseHolder?) throws -> Position {
    try record.check(id: id, progression: coder.name, at: store.location(of: id))
    let stage = try decode(record.stage, schemaVersion: record.schemaVersion)
    let isCurrent = record.schemaVersion == coder.schemaVersion
    let first = isCurrent ? record.first : try encode(decode(record.first, schemaVersion: record.schemaVersion))
    if let start = start as? any Equatable, try differs(start, from: first) {
      throw CheckpointError.differentStart(id: id, location: store.location(of: id))
    }
    return Position(stage: stage, version: record.version, first: first, holder: holder)
  }

  private func save(
    _ stage: P,
    first: [UInt8]?,
    after position: Position?,
    _ holder: LeaseHolder
  ) async throws -> Position {
    let bytes = try encodeToSave(stage)
    let first = first ?? bytes
    let record = CheckpointRecord(
      id: id,
      progression: coder.name,
      schemaVersion: coder.schemaVersion,
      version: (position?.version ?? 0) + 1,
      first: first,
      stage: bytes
    )
    if stage.result != nil, let store = store as? any LastStageStore {
      try await store.saveLast(record, ifVersionIs: position?.version, under: holder.lease)
    } else {
      try await store.save(record, ifVersionIs: position?.version, under: holder.lease)
    }
    return Position(stage: stage, version: record.version, first: first, holder: holder)
  }

  /// Returns whether the first stage differs from the stored one of the current version.
  private func differs(_ start: some Equatable, from first: [UInt8]) throws(CheckpointError) -> Bool {
    if let bytes = try? coder.encode(self.start), bytes == first { return false }
    return StageDifference.path(from: start, to: try decode(first, schemaVersion: coder.schemaVersion)) != nil
  }

  /// Encodes a stage and checks that it can be decoded again, as an equal stage if it is `Equatable`.
  private func encodeToSave(_ stage: P) throws(CheckpointError) -> [UInt8] {
    let bytes = try encode(stage)
    let copy: P
    do {
      copy = try coder.decode(bytes, schemaVersion: coder.schemaVersion)
    } catch {
      throw unencodable("it could not be decoded again: \(error.reason)")
    }
    if stage is any Equatable, let path = StageDifference.path(from: stage, to: copy) {
      throw unencodable("\(path.isEmpty ? "it" : path) changes when it is stored and decoded")
    }
    return bytes
  }

  private func encode(_ stage: P) throws(CheckpointError) -> [UInt8] {
    do {
      return try coder.encode(stage)
    } catch {
      throw unencodable(StoredReason.text(error))
    }
  }

  private func unencodable(_ reason: String) -> CheckpointError {
    .unencodable(id: id, location: store.location(of: id), reason: reason)
  }

  private func decode(_ bytes: [UInt8], schemaVersion: Int) throws(CheckpointError) -> P {
    do {
      return try coder.decode(bytes, schemaVersion: schemaVersion)
    } catch {
      throw .unknownShape(
        id: id,
        location: store.location(of: id),
        schemaVersion: schemaVersion,
        reason: error.reason
      )
    }
  }
}
