// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
public import StepwiseCheckpoints

/// A store that fails at the saves you choose, to test what a crash there would lose.
///
/// Run your code on it until it fails, then again on its base, and check what you got.
///
/// ```swift
/// let store = FaultInjectingStore(MemoryCheckpointStore(), faults: [3: .fail(DiskFull())])
/// ```
///
/// Saves are counted from 1, across all ids. All other calls are forwarded to the base store.
public final class FaultInjectingStore<Base: CheckpointStore>: CheckpointStore {
  /// A fault of a save.
  public enum Fault: Sendable {
    /// Saves nothing and throws this error.
    case fail(any Error)

    /// Saves and then throws this error, as when the response of a database is lost.
    case failAfterwards(any Error)

    /// Awaits this closure before it saves.
    case delay(@Sendable () async -> Void)

    /// Saves half of the stage and throws ``InjectedFault``, as when the power fails during a write.
    case tear
  }

  /// The base store.
  public let base: Base
  private let faults: [Int: Fault]
  private let count = Lock(0)

  /// Creates a store that injects faults.
  ///
  /// - Parameters:
  ///   - base: The store that does the work.
  ///   - faults: The faults by the number of the save; the first one is 1.
  public init(_ base: Base, faults: [Int: Fault] = [:]) {
    self.base = base
    self.faults = faults
  }

  /// The number of calls of `save`.
  public var saves: Int { count.withLock { count in count } }

  /// Acquires the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease { try await base.acquire(id) }

  /// Extends a lease.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    try await base.renew(lease)
  }

  /// Releases a lease.
  @concurrent public func release(_ lease: CheckpointLease) async throws { try await base.release(lease) }

  /// Releases a lease.
  public func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(lease) }

  /// Loads the last saved record.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? { try await base.load(id) }

  /// Saves, or injects the fault for this save.
  @concurrent public func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    let number = count.withLock { count in
      count += 1
      return count
    }
    switch faults[number] {
    case .fail(let error):
      throw error
    case .delay(let wait):
      await wait()
    case .tear:
      var torn = record
      torn.stage.removeLast((torn.stage.count + 1) / 2)
      try await base.save(torn, ifVersionIs: version, under: lease)
      throw InjectedFault(save: number)
    case .failAfterwards, nil:
      break
    }
    try await base.save(record, ifVersionIs: version, under: lease)
    if case .failAfterwards(let error) = faults[number] { throw error }
  }

  /// Removes the record of an id.
  @concurrent public func remove(_ id: String) async throws { try await base.remove(id) }

  /// Lists the ids that have a record.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    try await base.list(after: last, limit: limit)
  }

  /// Returns the location of an id in the base store.
  public func location(of id: String) -> String { base.location(of: id) }
}

/// The error that a `FaultInjectingStore` throws for a torn save.
///
/// If your test sees another error, your code has replaced this one.
public struct InjectedFault: Error, Sendable, Hashable {
  /// The number of the save, counted from 1.
  public let save: Int

  /// Creates the error.
  ///
  /// - Parameter save: The number of the save, counted from 1.
  public init(save: Int) {
    self.save = save
  }
}
