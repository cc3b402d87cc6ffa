// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a file system or a database does to keep progressions.
///
/// A run takes the lease of its id, loads, saves each stage under the lease, and gives the lease back. A store promises:
///
/// - A save either replaces the whole record or changes nothing, and outlives a crash once it has returned.
/// - An id has at most one lease at a time. Taking a second one throws ``CheckpointError/held(id:location:processID:)`` at
///   once; it does not wait.
/// - Each lease of an id has a higher fencing number than those before it, and a save under a lease that is over changes
///   nothing.
/// - Ids that differ in a byte of their UTF-8 are different ids, whatever Unicode says of them.
///
/// `checkCheckpointStore(_:)` of `StepwiseTesting` checks all of that. An error of the store's own may be thrown wherever
/// nothing else is said; a run ends with it.
public protocol CheckpointStore: Sendable {
  /// Takes the lease of an id, which keeps everybody else from running under the id.
  ///
  /// - Parameter id: The id; it need not hold anything.
  /// - Returns: The lease.
  /// - Throws: ``CheckpointError/held(id:location:processID:)`` when there is a lease that is not over.
  @concurrent func acquire(_ id: String) async throws -> CheckpointLease

  /// Makes a lease last longer. A store whose leases do not end by themselves returns it as it is.
  ///
  /// - Parameter lease: A lease of this store.
  /// - Returns: The lease as it now stands, with the same fencing number.
  /// - Throws: ``CheckpointError/lostLease(id:location:)`` when the lease is over.
  @concurrent func renew(_ lease: CheckpointLease) async throws -> CheckpointLease

  /// Gives a lease back and waits until the id is free. One that is over is no error.
  ///
  /// - Parameter lease: A lease of this store.
  /// - Throws: What keeps the lease from being given back.
  @concurrent func release(_ lease: CheckpointLease) async throws

  /// Gives a lease back without waiting, as somebody does who breaks out of a loop over stages.
  ///
  /// An `acquire` that this process begins after the call has returned finds the id free.
  ///
  /// - Parameter lease: A lease of this store.
  func releaseWithoutWaiting(_ lease: CheckpointLease)

  /// Reads what was last saved; needs no lease.
  ///
  /// - Parameter id: The id.
  /// - Returns: The record as it was saved; nil when there is none.
  /// - Throws: ``CheckpointError/damaged(id:location:reason:)`` when there is something that is no record.
  @concurrent func load(_ id: String) async throws -> CheckpointRecord?

  /// Replaces the record of an id, provided that its version is the expected one.
  ///
  /// - Parameters:
  ///   - record: What to keep.
  ///   - version: The version of the record that is kept now; nil when there is none.
  ///   - lease: The lease of the id.
  /// - Throws: ``CheckpointError/conflict(id:location:expected:found:)`` when another version is kept,
  ///   ``CheckpointError/lostLease(id:location:)`` when the lease is over; then nothing has changed.
  @concurrent func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws

  /// Forgets what is kept under an id; damaged as well. An id that keeps nothing is no error.
  ///
  /// - Parameter id: The id.
  /// - Throws: ``CheckpointError/held(id:location:processID:)`` while somebody runs under the id.
  @concurrent func remove(_ id: String) async throws

  /// Lists the ids that keep something, in the order of their UTF-8.
  ///
  /// - Parameters:
  ///   - last: The last id of the page before; nil for the first page.
  ///   - limit: How many ids a page has at most; at least 1.
  /// - Returns: The page.
  /// - Throws: What keeps the store from being read.
  @concurrent func list(after last: String?, limit: Int) async throws -> CheckpointPage

  /// Where an id is kept, as an error says it: a path, a table.
  ///
  /// - Parameter id: The id.
  /// - Returns: The place.
  func location(of id: String) -> String
}

extension CheckpointStore {
  /// Where an id is kept: the name of the store's type, unless the store says more.
  public func location(of id: String) -> String { String(describing: Self.self) }
}
