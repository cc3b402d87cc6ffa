// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Whoever has the lease of an id: letting go of the holder lets go of the id.
final class LeaseHolder: Sendable {
  let lease: CheckpointLease
  private let store: any CheckpointStore
  private let isHeld = Lock(true)

  init(_ lease: CheckpointLease, of store: any CheckpointStore) {
    self.lease = lease
    self.store = store
  }

  deinit {
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

  /// Renews the lease, and does so again and again until the body has ended, if the lease ends by itself.
  ///
  /// A lease that is lost cancels the body, whose value nobody may save any more.
  func renewing<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard let duration = lease.duration else { return try await body() }
    _ = try await store.renew(lease)
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        while true {
          do { try await Task.sleep(for: duration / 3) } catch { return nil }
          _ = try await self.store.renew(self.lease)
        }
      }
      while let value = try await group.next() {
        guard let value else { continue }
        group.cancelAll()
        return value
      }
      throw CancellationError()
    }
  }

  /// What keeps a lease from being given back is nothing that the run could do about: its stages are saved.
  private func release() async {
    let isHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    guard isHeld else { return }
    do { try await store.release(lease) } catch { store.letGo(of: lease) }
  }
}
