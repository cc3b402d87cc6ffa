// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A file system or database that stores the checkpoints of progressions.
///
/// A run acquires the lease of its id, loads the record, saves each stage under the lease, and releases the lease. A
/// store guarantees:
///
/// - A save either replaces the whole record or changes nothing, and survives a crash once it has returned.
/// - An id has at most one lease at a time. Acquiring a second one throws
///   ``CheckpointError/held(id:location:processID:)`` without waiting.
/// - Each lease of an id has a higher fencing number than all earlier ones, and a save under a lease that is over
///   changes nothing.
/// - Ids that differ in one byte of their UTF-8 are different ids, regardless of Unicode equivalence.
///
/// `checkCheckpointStore(_:)` of `StepwiseTesting` checks these guarantees. Where nothing else is documented, a method
/// may throw an error of its own, which ends the run.
public protocol CheckpointStore: Sendable {
  /// Acquires the lease of an id, which prevents other runs under the id.
  ///
  /// - Parameter id: The id; it need not have a record.
  /// - Returns: The lease.
  /// - Throws: ``CheckpointError/held(id:location:processID:)`` while there is another lease.
  @concurrent func acquire(_ id: String) async throws -> CheckpointLease

  /// Extends a lease. A store whose leases do not expire returns it unchanged.
  ///
  /// - Parameter lease: A lease of this store.
  /// - Returns: The extended lease, with the same fencing number.
  /// - Throws: ``CheckpointError/lostLease(id:location:)`` when the lease is over.
  @concurrent func renew(_ lease: CheckpointLease) async throws -> CheckpointLease

  /// Releases a lease and waits until the id is free. Releasing a lease that is over is not an error.
  ///
  /// - Parameter lease: A lease of this store.
  /// - Throws: An error that prevents the release.
  @concurrent func release(_ lease: CheckpointLease) async throws

  /// Releases a lease from code that cannot suspend, for example when a loop over stages is left.
  ///
  /// An `acquire` that this process begins after the call has returned finds the id free.
  ///
  /// - Parameter lease: A lease of this store.
  func releaseWithoutWaiting(_ lease: CheckpointLease)

  /// Loads the last saved record; does not need a lease.
  ///
  /// - Parameter id: The id.
  /// - Returns: The record as it was saved; nil when there is none.
  /// - Throws: ``CheckpointError/damaged(id:location:reason:)`` when what is stored is not a record.
  @concurrent func load(_ id: String) async throws -> CheckpointRecord?

  /// Replaces the record of an id if its version is the expected one.
  ///
  /// - Parameters:
  ///   - record: The record to store.
  ///   - version: The version of the record that is stored; nil when there is none.
  ///   - lease: The lease of the id.
  /// - Throws: ``CheckpointError/conflict(id:location:expected:found:)`` when another version is stored,
  ///   ``CheckpointError/lostLease(id:location:)`` when the lease is over. In both cases nothing has changed.
  @concurrent func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws

  /// Removes the record of an id, even a damaged one. Removing an id without a record is not an error.
  ///
  /// - Parameter id: The id.
  /// - Throws: ``CheckpointError/held(id:location:processID:)`` while a run holds the id.
  @concurrent func remove(_ id: String) async throws

  /// Lists the ids that have a record, ordered by their UTF-8.
  ///
  /// - Parameters:
  ///   - last: The last id of the previous page; nil for the first page.
  ///   - limit: The maximum number of ids of a page; at least 1.
  /// - Returns: The page.
  /// - Throws: An error that prevents reading the store.
  @concurrent func list(after last: String?, limit: Int) async throws -> CheckpointPage

  /// Returns the location of an id for errors: a path, or a table.
  ///
  /// - Parameter id: The id.
  /// - Returns: The location.
  func location(of id: String) -> String
}

extension CheckpointStore {
  /// Returns the location of an id: by default the name of the store's type.
  public func location(of id: String) -> String { String(describing: Self.self) }
}
