// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFiles

/// Stores checkpoints in memory, for tests and previews, as long as the store exists.
///
/// Use this where your app uses a ``FileCheckpointStore``: both pass the same checks. Leases do not expire, unless the
/// store is created with a duration for them.
public final class MemoryCheckpointStore: CheckpointStore {
  private struct Held: Sendable {
    let fence: UInt64
    /// When the lease ends, on the store's clock; nil for never.
    var end: Duration?
  }

  /// A record as it was saved, and what was appended since: to compose both at each append would take the square of
  /// their number.
  private struct Stored: Sendable {
    let saved: CheckpointRecord
    var entries: [[UInt8]] = []

    var version: UInt64 { saved.version &+ UInt64(entries.count) }
    var record: CheckpointRecord { entries.isEmpty ? saved : saved.appending(entries) }
  }

  private struct State: Sendable {
    var records: [CheckpointID: Stored] = [:]
    var leases: [CheckpointID: Held] = [:]
    var lastFence: UInt64 = 0
  }

  private let state = Lock(State())
  private let leaseDuration: Duration?
  private let now: @Sendable () -> Duration

  /// Creates an empty store.
  public init() {
    leaseDuration = nil
    now = { .zero }
  }

  /// Creates an empty store whose leases expire unless they are renewed, like those of a database.
  ///
  /// - Parameters:
  ///   - leaseDuration: How long a lease lasts after it was acquired or renewed.
  ///   - clock: The clock that measures the time.
  public init<C: Clock<Duration>>(leaseDuration: Duration, clock: C = ContinuousClock()) {
    self.leaseDuration = leaseDuration
    now = stopwatch(on: clock)
  }

  /// Acquires the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease {
    let id = try CheckpointID(id)
    let now = now()
    return try state.withLock { state throws in
      if let held = state.leases[id], held.end.map({ $0 > now }) ?? true {
        throw CheckpointError.held(id: id.text, location: Self.location, processID: SystemMessage.processID)
      }
      state.lastFence += 1
      state.leases[id] = Held(fence: state.lastFence, end: leaseDuration.map(now.saturatedSum))
      return CheckpointLease(id: id.text, fence: state.lastFence, duration: leaseDuration)
    }
  }

  /// Extends a lease.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    let now = now()
    try state.withLock { state throws in
      let id = try check(lease, state, now)
      state.leases[id]?.end = leaseDuration.map(now.saturatedSum)
    }
    return lease
  }

  /// Releases a lease.
  @concurrent public func release(_ lease: CheckpointLease) async throws { releaseWithoutWaiting(lease) }

  /// Releases a lease.
  public func releaseWithoutWaiting(_ lease: CheckpointLease) {
    guard let id = lease.key else { return }
    state.withLock { state in
      if state.leases[id]?.fence == lease.fence { state.leases[id] = nil }
    }
  }

  /// Loads the last saved record.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? {
    let id = try CheckpointID(id)
    return state.withLock { state in state.records[id] }?.record
  }

  /// Replaces the record of an id if its version is the expected one.
  @concurrent public func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    let id = try CheckpointID(record.id)
    try write(id, ifVersionIs: version, under: lease) { $0 = Stored(saved: record) }
  }

  /// Appends an entry to the record of an id if its version is the expected one.
  @concurrent public func append(
    _ entry: [UInt8],
    ifVersionIs version: UInt64,
    under lease: CheckpointLease
  ) async throws {
    try write(try CheckpointID(lease.id), ifVersionIs: version, under: lease) { $0?.entries.append(entry) }
  }

  private func write(
    _ id: CheckpointID,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease,
    _ change: (inout Stored?) -> Void
  ) throws {
    let now = now()
    try state.withLock { state throws in
      guard try check(lease, state, now) == id else { throw lostLease(of: lease.id) }
      let found = state.records[id]?.version
      guard found == version else {
        throw CheckpointError.conflict(id: id.text, location: Self.location, expected: version, found: found)
      }
      change(&state.records[id])
    }
  }

  /// Removes the record of an id.
  @concurrent public func remove(_ id: String) async throws {
    let lease = try await acquire(id)
    state.withLock { state in
      if let id = lease.key { state.records[id] = nil }
    }
    releaseWithoutWaiting(lease)
  }

  /// Lists the ids that have a record.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    let ids = state.withLock { state in Array(state.records.keys) }
    return CheckpointPage(ofSorted: ids.sorted(), after: last, limit: limit)
  }

  /// Returns a text that says that the record is in memory.
  public func location(of id: String) -> String { Self.location }

  private static let location = "memory"

  /// Returns the id of a lease that is not over.
  private func check(_ lease: CheckpointLease, _ state: State, _ now: Duration) throws -> CheckpointID {
    guard let id = lease.key, let held = state.leases[id], held.fence == lease.fence,
      held.end.map({ $0 > now }) ?? true
    else { throw lostLease(of: lease.id) }
    return id
  }
}
