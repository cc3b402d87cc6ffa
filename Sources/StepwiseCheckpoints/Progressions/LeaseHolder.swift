// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Whoever has the lease of an id: letting go of the holder lets go of the id.
///
/// A lease that ends by itself is renewed as long as the holder is there, also between the stages, by a Task that does not
/// hold the holder and ends with it.
final class LeaseHolder: Sendable {
  let lease: CheckpointLease
  private let store: any CheckpointStore
  private let isHeld = Lock(true)
  /// Why the lease could not be renewed.
  private let loss = Once<any Error>()
  private let renewal: Task<Void, Never>?

  init(_ lease: CheckpointLease, of store: any CheckpointStore) {
    self.lease = lease
    self.store = store
    renewal = lease.duration.map { [loss] duration in
      spawn { await Self.renew(lease, of: store, every: max(duration / 3, .milliseconds(1)), loss) }
    }
  }

  deinit {
    renewal?.cancel()
    if isHeld.withLock({ isHeld in isHeld }) { store.letGo(of: lease) }
  }

  /// Gives the lease back when the body fails, or when its value says so.
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

  /// Runs the body if the lease is not over, and cancels it when the lease is lost, as nobody may save its value any more.
  func watching<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard lease.duration != nil else { return try await body() }
    if let error = loss.settled { throw error }
    _ = try await store.renew(lease)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await body() }
      group.addTask { [loss] in
        if let error = await loss.value() { throw error }
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

  /// Renews a lease again and again until it is lost, or the Task is cancelled.
  @concurrent
  private static func renew(
    _ lease: CheckpointLease,
    of store: any CheckpointStore,
    every time: Duration,
    _ loss: Once<any Error>
  ) async {
    while true {
      do { try await Task.sleep(for: time) } catch { return }
      do { _ = try await store.renew(lease) } catch {
        loss.settle(error)
        return
      }
    }
  }

  /// What keeps a lease from being given back is nothing that the run could do about: its stages are saved.
  private func release() async {
    renewal?.cancel()
    let isHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    guard isHeld else { return }
    do { try await store.release(lease) } catch { store.letGo(of: lease) }
  }
}
