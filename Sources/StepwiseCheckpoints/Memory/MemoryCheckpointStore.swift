// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFiles

/// Checkpoints in memory, for tests and previews: they last as long as the store.
///
/// Leases do not end by themselves, unless the store is made with a duration for them.
public final class MemoryCheckpointStore: CheckpointStore {
  private struct Held: Sendable {
    let fence: UInt64
    /// When the lease is over, on the store's clock; nil for never.
    var end: Duration?
  }

  private struct State: Sendable {
    var records: [CheckpointID: CheckpointRecord] = [:]
    var leases: [CheckpointID: Held] = [:]
    var lastFence: UInt64 = 0
  }

  private let state = Lock(State())
  private let leaseDuration: Duration?
  private let now: @Sendable () -> Duration

  /// Makes an empty store.
  public init() {
    leaseDuration = nil
    now = { .zero }
  }

  /// Makes an empty store whose leases are over after a while if nobody renews them, as a database's are.
  ///
  /// - Parameters:
  ///   - leaseDuration: How long a lease lasts from when it was taken or renewed.
  ///   - clock: Tells the time.
  public init<C: Clock<Duration>>(leaseDuration: Duration, clock: C = ContinuousClock()) {
    self.leaseDuration = leaseDuration
    let start = clock.now
    now = { start.duration(to: clock.now) }
  }

  /// Takes the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease {
    let id = try CheckpointID(id)
    let now = now()
    return try state.withLock { state throws in
      if let held = state.leases[id], held.end.map({ $0 > now }) ?? true {
        throw CheckpointError.held(id: id.text, location: Self.location, processID: SystemMessage.processID)
      }
      state.lastFence += 1
      state.leases[id] = Held(fence: state.lastFence, end: leaseDuration.map { now + $0 })
      return CheckpointLease(id: id.text, fence: state.lastFence, duration: leaseDuration)
    }
  }

  /// Makes a lease last longer.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    let id = try CheckpointID(lease.id)
    let now = now()
    try state.withLock { state throws in
      try check(lease, for: id, state, now)
      state.leases[id]?.end = leaseDuration.map { now + $0 }
    }
    return lease
  }

  /// Gives a lease back.
  @concurrent public func release(_ lease: CheckpointLease) async throws { releaseWithoutWaiting(lease) }

  /// Gives a lease back.
  public func releaseWithoutWaiting(_ lease: CheckpointLease) {
    guard let id = try? CheckpointID(lease.id) else { return }
    state.withLock { state in
      if state.leases[id]?.fence == lease.fence { state.leases[id] = nil }
    }
  }

  /// Gives what was last saved.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? {
    let id = try CheckpointID(id)
    return state.withLock { state in state.records[id] }
  }

  /// Replaces the record of an id, provided that its version is the expected one.
  @concurrent public func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    let id = try CheckpointID(record.id)
    let now = now()
    try state.withLock { state throws in
      try check(lease, for: id, state, now)
      let found = state.records[id]?.version
      guard found == version else {
        throw CheckpointError.conflict(id: id.text, location: Self.location, expected: version, found: found)
      }
      state.records[id] = record
    }
  }

  /// Forgets what is kept under an id.
  @concurrent public func remove(_ id: String) async throws {
    let lease = try await acquire(id)
    let id = try CheckpointID(id)
    state.withLock { state in state.records[id] = nil }
    releaseWithoutWaiting(lease)
  }

  /// Lists the ids that keep something.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    let ids = state.withLock { state in state.records.values.map(\.id) }
    return CheckpointPage(of: ids, after: last, limit: limit)
  }

  /// Says that it is in memory.
  public func location(of id: String) -> String { Self.location }

  private static let location = "memory"

  private func check(_ lease: CheckpointLease, for id: CheckpointID, _ state: State, _ now: Duration) throws {
    guard let held = state.leases[id], held.fence == lease.fence, held.end.map({ $0 > now }) ?? true,
      lease.id.utf8.elementsEqual(id.bytes)
    else { throw CheckpointError.lostLease(id: id.text, location: Self.location) }
  }
}
