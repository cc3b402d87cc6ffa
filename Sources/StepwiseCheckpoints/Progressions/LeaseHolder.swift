// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Holds the lease of an id; releasing the holder releases the id.
///
/// A lease with a duration is renewed as long as the holder exists, also between stages, by a task that does not retain
/// the holder and ends with it. The lease is lost when its duration has passed since the last renewal, or when the
/// store reports it. A single error of the store does not lose it, and a renewal that hangs does not delay the loss.
final class LeaseHolder: Sendable {
  let lease: CheckpointLease
  private let store: any CheckpointStore
  private let isHeld = Lock(true)
  private let renewal: LeaseRenewal?
  private let renewing: Task<Void, Never>?

  /// Starts to renew a lease that was requested at a time of the clock.
  init(_ lease: CheckpointLease, of store: any CheckpointStore, _ clock: LeaseClock, since start: Duration) {
    self.lease = lease
    self.store = store
    renewal = lease.duration.map { duration in
      LeaseRenewal(lease, of: store, clock, LeaseTerm(duration, at: start))
    }
    renewing = renewal.map { renewal in spawn { await renewal.run() } }
  }

  deinit {
    renewing?.cancel()
    if isHeld.withLock({ isHeld in isHeld }) { store.releaseWithoutWaiting(lease) }
  }

  /// Releases the lease when the body throws, or when its value is the last one.
  func releasing<Value: Sendable>(
    if isLast: (Value) -> Bool,
    _ body: () async throws -> Value
  ) async throws -> Value {
    do {
      let value = try await body()
      if isLast(value) { await release() }
      return value
    } catch {
      await release()
      throw error
    }
  }

  /// Runs the body unless the lease is lost, and cancels the body when the lease is lost, because its value could not
  /// be saved.
  func watching<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard let renewal else { return try await body() }
    let lost = CheckpointError.lostLease(id: lease.id, location: store.location(of: lease.id))
    // If the process was suspended for a while, the stage may run before the renewal that finds the lease over.
    if renewal.isOver() { throw lost }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        if await renewal.loss.value() != nil { throw lost }
        return nil
      }
      while let value = try await group.next() {
        guard let value else { continue }
        group.cancelAll()
        return value
      }
      throw CancellationError()
    }
  }

  /// Releases the lease.
  ///
  /// An error of the store does not concern the run, whose stages are saved.
  private func release() async {
    renewing?.cancel()
    let isHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    guard isHeld else { return }
    do { try await store.release(lease) } catch { store.releaseWithoutWaiting(lease) }
  }
}
