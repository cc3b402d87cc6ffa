// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A progression that runs under an id: its stages, each of which is saved before it is returned.
struct CheckpointedRun<P: Progression & Codable>: AsyncSequence, AsyncIteratorProtocol, Sendable {
  typealias Element = P
  typealias Failure = any Error

  /// A saved stage.
  struct Position: Sendable {
    let stage: P
    let version: UInt64
    /// The first stage of the first run, encoded in this version of the shape.
    let first: [UInt8]
    /// Nil for a last stage that was only read.
    let holder: LeaseHolder?

    var isLast: Bool { stage.result != nil }
  }

  let start: P
  let id: String
  let store: any CheckpointStore
  /// The clock for renewals of the lease.
  var clock = LeaseClock(ContinuousClock())
  let coder = StageCoder<P>()
  /// The stage that was returned.
  private var position: Position?
  /// Whether there is no further stage.
  private var isEnded = false

  init(_ start: P, id: String, in store: any CheckpointStore) {
    (self.start, self.id, self.store) = (start, id, store)
  }

  func makeAsyncIterator() -> Self { self }

  mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
    let last = exchange(&position, with: nil)
    guard !exchange(&isEnded, with: true), last?.isLast != true else { return nil }
    let next = if let last { try await advance(from: last) } else { try await begin() }
    (position, isEnded) = (next, false)
    return next.stage
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
      // No run replaces the last stage of a completed progression, so it is read without a lease.
      guard let record = try await store.load(id), case let last = try position(of: record, nil), last.isLast else {
        throw error
      }
      return last
    }
    return try await releasing(holder) {
      guard let record = try await store.load(id) else { return try await save(start, after: nil, holder) }
      return try position(of: record, holder)
    }
  }

  /// Runs the stage and saves the next one.
  ///
  /// The id is released when that is the last stage, or when an error is thrown.
  @concurrent
  func advance(from position: Position) async throws -> Position {
    guard let holder = position.holder else { throw store.lostLease(of: id) }
    return try await releasing(holder) {
      try Task.checkCancellation()
      let stage = try await holder.watching { try await position.stage.next() }
      // Cancellation is ignored from here on, because the work of the stage is done.
      return try await save(stage, after: position, holder)
    }
  }

  private func releasing(_ holder: LeaseHolder, _ body: () async throws -> Position) async throws -> Position {
    do {
      let position = try await body()
      if position.isLast { await holder.release() }
      return position
    } catch {
      await holder.release()
      throw error
    }
  }

  private func position(of record: CheckpointRecord, _ holder: LeaseHolder?) throws -> Position {
    let location = store.location(of: id)
    try record.check(id: id, progression: coder.name, at: location)
    let stage = try decode(record.stage, schemaVersion: record.schemaVersion)
    var first = record.first
    if record.schemaVersion != coder.schemaVersion {
      let stage = try decode(first, schemaVersion: record.schemaVersion)
      do { first = try coder.encode(stage) } catch {
        throw CheckpointError.unencodable(id: id, location: location, reason: StoredReason.text(error))
      }
    }
    if start is any Equatable, (try? coder.encode(start)) != first,
      StageDifference.path(from: start, to: try decode(first, schemaVersion: coder.schemaVersion)) != nil
    {
      throw CheckpointError.differentStart(id: id, location: location)
    }
    return Position(stage: stage, version: record.version, first: first, holder: holder)
  }

  private func save(_ stage: P, after position: Position?, _ holder: LeaseHolder) async throws -> Position {
    let bytes = try coder.encodeToSave(stage, id: id, location: store.location(of: id))
    let record = CheckpointRecord(
      id: id,
      progression: coder.name,
      schemaVersion: coder.schemaVersion,
      version: (position?.version ?? 0) &+ 1,
      first: position?.first ?? bytes,
      stage: bytes
    )
    try await store.save(record, ifVersionIs: position?.version, under: holder.lease)
    return Position(stage: stage, version: record.version, first: record.first, holder: holder)
  }

  private func decode(_ bytes: [UInt8], schemaVersion: Int) throws(CheckpointError) -> P {
    do {
      return try coder.decode(bytes, schemaVersion: schemaVersion)
    } catch {
      let location = store.location(of: id)
      throw .unknownShape(id: id, location: location, schemaVersion: schemaVersion, reason: error.reason)
    }
  }
}
