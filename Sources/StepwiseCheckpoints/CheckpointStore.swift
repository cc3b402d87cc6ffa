// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A type that stores the checkpoints of progressions; implement it for your database.
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
/// may throw any other error, which ends the run.
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

  /// Appends an entry to the record of an id if its version is the expected one, and increments the version by one.
  ///
  /// The `stage` of the record is the sequence of its entries, each preceded by its length in four bytes, most
  /// significant first. By default this saves the whole record; a store that can append should, because durable chains
  /// append once for each step.
  ///
  /// - Parameters:
  ///   - entry: The entry.
  ///   - version: The version of the record that is stored.
  ///   - lease: The lease of the id.
  /// - Throws: ``CheckpointError/conflict(id:location:expected:found:)`` when another version or nothing is stored,
  ///   ``CheckpointError/lostLease(id:location:)`` when the lease is over. In both cases nothing has changed.
  @concurrent func append(_ entry: [UInt8], ifVersionIs version: UInt64, under lease: CheckpointLease) async throws

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
  /// Appends an entry to the record of an id, by saving the whole record.
  @concurrent public func append(
    _ entry: [UInt8],
    ifVersionIs version: UInt64,
    under lease: CheckpointLease
  ) async throws {
    let record = try await load(lease.id)
    guard let record, record.version == version else {
      let location = location(of: lease.id)
      throw CheckpointError.conflict(id: lease.id, location: location, expected: version, found: record?.version)
    }
    try await save(record.appending([entry]), ifVersionIs: version, under: lease)
  }

  /// Returns the entries of a record, oldest first.
  @concurrent package func entries(of id: String) async throws -> [[UInt8]] {
    guard let record = try await load(id) else { return [] }
    do {
      return try CheckpointEntries.entries(in: record.stage)
    } catch {
      throw CheckpointError.damaged(id: id, location: location(of: id), reason: error.reason)
    }
  }

  func lostLease(of id: String) -> CheckpointError { .lostLease(id: id, location: location(of: id)) }

  /// Returns the location of an id: by default the name of the store's type.
  public func location(of id: String) -> String { String(describing: Self.self) }
}

/// The exclusive right of one run to save under an id.
///
/// You meet it only when you write a store.
public struct CheckpointLease: Sendable, Hashable {
  /// The id.
  public let id: String

  /// The fencing number, higher than that of every earlier lease of the id.
  ///
  /// With it you can detect a late save.
  public let fence: UInt64

  /// How long the lease lasts after it was acquired or renewed; nil when it ends only with its holder.
  ///
  /// A run renews the lease whenever a third of its duration has passed, and more often while the store is unreachable.
  /// The lease is lost when its duration has passed since the last successful renewal, or when the store throws
  /// ``CheckpointError/lostLease(id:location:)``. Then the stage in progress is cancelled, and the run throws that
  /// error.
  public let duration: Duration?

  /// Creates a lease; called by stores.
  ///
  /// - Parameters:
  ///   - id: The id.
  ///   - fence: The fencing number.
  ///   - duration: How long the lease lasts without a renewal; nil when it ends only with its holder.
  public init(id: String, fence: UInt64, duration: Duration? = nil) {
    self.id = id
    self.fence = fence
    self.duration = duration
  }

  /// The id, parsed; nil when it is not valid.
  package var key: CheckpointID? { try? CheckpointID(id) }
}

/// A page of the ids under which a store holds a record.
///
/// You can pass the last id to the next call to get the next page.
public struct CheckpointPage: Sendable, Hashable {
  /// The ids, ordered by their UTF-8.
  public let ids: [String]

  /// A Boolean value that indicates whether there are further ids, which `list(after: ids.last, …)` returns.
  public let hasMore: Bool

  /// Creates a page.
  ///
  /// - Parameters:
  ///   - ids: The ids, ordered by their UTF-8.
  ///   - hasMore: Whether there are further ids.
  public init(ids: [String], hasMore: Bool) {
    self.ids = ids
    self.hasMore = hasMore
  }

  /// Creates the page of a store that has its ids in order.
  init(ofSorted all: [CheckpointID], after last: String?, limit: Int) {
    let last = Array((last ?? "").utf8)
    var range = all.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      let follows = last.lexicographicallyPrecedes(all[middle].bytes)
      range = follows ? range.lowerBound..<middle : (middle + 1)..<range.upperBound
    }
    let rest = all[range.lowerBound...]
    self.init(ids: rest.prefix(max(1, limit)).map(\.text), hasMore: rest.count > max(1, limit))
  }
}
