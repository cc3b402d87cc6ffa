// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Holds the lease of an id; releasing the holder releases the id.
///
/// A lease that ends after a duration is renewed as long as the holder is there, also between the stages, by a Task that
/// does not retain the holder and ends with it. The lease is lost when its duration has passed since the last renewal, or
/// when the store says so: neither at the first error of the store nor only when a renewal that hangs returns.
final class LeaseHolder: Sendable {
  let lease: CheckpointLease
  private let store: any CheckpointStore
  private let isHeld = Lock(true)
  private let renewal: LeaseRenewal?
  private let renewing: Task<Void, Never>?

  /// Begins to renew a lease that was requested at a time of the clock.
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

  /// Returns the lease when the body fails, or when its value is the last one.
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

  /// Runs the body if the lease is not lost, and cancels it when the lease is lost: its value could not be saved.
  func watching<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard let renewal else { return try await body() }
    let lost = CheckpointError.lostLease(id: lease.id, location: store.location(of: lease.id))
    // After the process was stopped for a while, the stage may come before the renewal that finds the lease over.
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

  /// An error of the store does not concern the run: its stages are saved.
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
