// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
public import StepwiseCheckpoints

/// A store in which chosen saves go wrong, to show what your code does then.
///
/// ```swift
/// let store = FaultInjectingStore(MemoryCheckpointStore(), faults: [3: .fail(DiskFull())])
/// ```
///
/// Saves are counted from 1, over all ids. Everything else is left to the store behind it.
public final class FaultInjectingStore<Base: CheckpointStore>: CheckpointStore {
  /// What goes wrong with a save.
  public enum Fault: Sendable {
    /// Nothing is saved, and this is thrown.
    case fail(any Error)

    /// The save is done, and this is thrown all the same, as when the answer of a database is lost.
    case failAfterwards(any Error)

    /// The save waits for this before it is done.
    case delay(@Sendable () async -> Void)

    /// Half of the stage is saved, and ``InjectedFault`` is thrown, as when the power fails in the middle of a write.
    case tear
  }

  /// The store behind this one.
  public let base: Base
  private let faults: [Int: Fault]
  private let count = Lock(0)
  private let renewalCount = Lock(0)

  /// Makes a store in which chosen saves go wrong.
  ///
  /// - Parameters:
  ///   - base: The store that does the work.
  ///   - faults: What goes wrong with which save; the first one is 1.
  public init(_ base: Base, faults: [Int: Fault] = [:]) {
    self.base = base
    self.faults = faults
  }

  /// How many saves were asked for.
  public var saves: Int { count.withLock { count in count } }

  /// How many times a lease was to be renewed.
  public var renewals: Int { renewalCount.withLock { count in count } }

  /// Takes the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease { try await base.acquire(id) }

  /// Makes a lease last longer.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    renewalCount.withLock { count in count += 1 }
    return try await base.renew(lease)
  }

  /// Gives a lease back.
  @concurrent public func release(_ lease: CheckpointLease) async throws { try await base.release(lease) }

  /// Gives a lease back.
  public func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(lease) }

  /// Gives what was last saved.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? { try await base.load(id) }

  /// Saves, or does what was chosen for this save.
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
    case .failAfterwards(let error):
      try await base.save(record, ifVersionIs: version, under: lease)
      throw error
    case .delay(let wait):
      await wait()
      try await base.save(record, ifVersionIs: version, under: lease)
    case .tear:
      var torn = record
      torn.stage.removeLast((torn.stage.count + 1) / 2)
      try await base.save(torn, ifVersionIs: version, under: lease)
      throw InjectedFault(save: number)
    case nil:
      try await base.save(record, ifVersionIs: version, under: lease)
    }
  }

  /// Forgets what is kept under an id.
  @concurrent public func remove(_ id: String) async throws { try await base.remove(id) }

  /// Lists the ids that keep something.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    try await base.list(after: last, limit: limit)
  }

  /// Where the store behind this one keeps an id.
  public func location(of id: String) -> String { base.location(of: id) }
}

/// What a `FaultInjectingStore` throws when it has torn a save.
public struct InjectedFault: Error, Sendable, Hashable {
  /// Which save it was, counted from 1.
  public let save: Int

  /// Makes the error.
  ///
  /// - Parameter save: Which save it was, counted from 1.
  public init(save: Int) {
    self.save = save
  }
}
