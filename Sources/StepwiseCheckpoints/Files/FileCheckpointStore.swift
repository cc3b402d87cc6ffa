// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFiles

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Stores checkpoints in a directory, with one file for each id.
///
/// Use it for an app, a command-line tool, or a server on one machine. A stage is written to a temporary file, synced
/// to the disk, and renamed over the last one; then the directory is synced. At every instant the file holds one
/// complete stage. Its header contains the format, the progression's type, the schema version, the stage counter, the
/// length and a checksum. The file name is the id, with all characters but lowercase letters and digits escaped; a long
/// id is cut and continued by its hash. Files are readable only by their owner, unless the store is created with other
/// permissions.
///
/// ```swift
/// let store = try FileCheckpointStore(directory: folder)
/// let total = try await Import.start(lines: lines).run(id: "import-42", in: store)
/// ```
///
/// While an id is held, a file in the hidden directory `.locks` is locked. The kernel unlocks it when the process ends
/// for any reason. A process that was created by `fork` without `exec` while an id is held also holds it until it ends.
/// Locks are advisory and rely on `flock` of the file system: do not share a directory between machines. The directory
/// and `.locks` belong to the store: removing the locked file of a holder ends its lease.
///
/// The cooperative pool is never blocked: all operations run on separate threads. The only exception is releasing the
/// iterator of a loop over stages, which removes the locked file immediately and frees the id. Acquiring an id
/// waits while another process increments `.locks/fence`, which takes one read and one write. It waits up to ten
/// seconds, in case that process is stopped, and until the waiting task is cancelled.
///
/// On a full or read-only disk, records can be loaded and the result of a completed id is returned. On a full disk,
/// you can remove every id.
public final class FileCheckpointStore: CheckpointStore {
  /// The ids in a directory that has not changed since.
  private struct Listing: Sendable {
    let change: FileFacts
    let ids: [CheckpointID]
  }

  /// The directory.
  public let directory: URL

  private let folder: CheckpointFolder
  private let leases = Lock([CheckpointLease: FileLease]())
  /// The ids of the directory, between the pages of a listing.
  private let listing = Lock(Listing?.none)
  private let threads = IOThreads.shared
  /// How long to wait for a process that holds the fence.
  private let fenceTimeout: Duration

  /// Creates a store in a directory, and creates the directory with its parents if it does not exist.
  ///
  /// - Parameters:
  ///   - directory: A directory of a local file system; several stores may use it.
  ///   - permissions: The permissions of files and directories that the store creates.
  /// - Throws: ``CheckpointError/io(id:location:operation:errno:)`` when the directory cannot be created.
  public convenience init(directory: URL, permissions: CheckpointPermissions = .owner) throws {
    try self.init(directory: directory, permissions: permissions, fenceTimeout: .seconds(10))
  }

  package init(directory: URL, permissions: CheckpointPermissions = .owner, fenceTimeout: Duration) throws {
    self.directory = directory
    self.fenceTimeout = fenceTimeout
    var path = directory.path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    folder = CheckpointFolder(directory: FileLocation(path), permissions: permissions)
    do {
      guard directory.isFileURL else {
        throw FileFailure("mkdir", directory.absoluteString, SystemMessage.invalidArgument)
      }
      try folder.directory.makeDirectories(mode: permissions.directories)
    } catch let failure as FileFailure {
      throw CheckpointError(failure, of: nil)
    }
  }

  /// Acquires the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease {
    let id = try CheckpointID(id)
    let held = FileLease(id, in: folder)
    let lease: CheckpointLease
    do {
      lease = try await untilFenceIsFree(id) { _ in try held.begin() }
    } catch {
      // On a separate thread, because the work blocks even though it does not throw.
      try? await threads.run { held.end() }
      throw error
    }
    leases.withLock { leases in leases[lease] = held }
    return lease
  }

  /// Returns the lease unchanged, because it does not expire.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    _ = try held(lease)
    return lease
  }

  /// Releases a lease.
  @concurrent public func release(_ lease: CheckpointLease) async throws {
    try await threads.run { [self] in releaseWithoutWaiting(lease) }
  }

  /// Releases a lease.
  public func releaseWithoutWaiting(_ lease: CheckpointLease) {
    leases.withLock { leases in leases.removeValue(forKey: lease) }?.end()
  }

  /// Loads the last saved record.
  ///
  /// A file that cannot be read is left unchanged.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? {
    let id = try CheckpointID(id)
    return try await performing(id) { folder in try folder.record(of: id) }
  }

  /// Replaces the record of an id if its version is the expected one.
  @concurrent public func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    let held = try held(lease)
    guard try held.id == CheckpointID(record.id) else { throw lostLease(of: lease.id) }
    try await performing(held.id) { _ in try held.save(record, ifVersionIs: version) }
  }

  /// Appends an entry to the record of an id if its version is the expected one.
  ///
  /// The first entry under a lease writes the whole file; each further one is written to its end and synced.
  @concurrent public func append(
    _ entry: [UInt8],
    ifVersionIs version: UInt64,
    under lease: CheckpointLease
  ) async throws {
    let held = try held(lease)
    try await performing(held.id) { _ in try held.append(entry, ifVersionIs: version) }
  }

  /// Removes the record of an id.
  ///
  /// This works on a full disk as well, where no lock file can be created.
  @concurrent public func remove(_ id: String) async throws {
    let id = try CheckpointID(id)
    try await untilFenceIsFree(id) { folder in try folder.removeWhenFree(id) }
  }

  /// Removes the record of an id even if a run holds the id, and ends the lease of that run.
  ///
  /// The run throws ``CheckpointError/lostLease(id:location:)`` when it saves its next stage; the stage in progress is
  /// not cancelled. A stage that is being saved during the call may be stored again.
  ///
  /// - Parameter id: The id.
  /// - Throws: ``CheckpointError/io(id:location:operation:errno:)`` when a file cannot be removed.
  @concurrent public func removeEvenIfHeld(_ id: String) async throws {
    let id = try CheckpointID(id)
    try await performing(id) { folder in try folder.removeWithLease(id) }
  }

  /// Returns a summary of each checkpoint: those with an id ordered by its UTF-8, then damaged files without one.
  ///
  /// Nothing is changed, locked or repaired, and the ids remain free for runs. The files are read one at a time. A
  /// holder is the process that the locked file of the id names, if there is one with that number; in a container, a
  /// process of another container is not found.
  ///
  /// - Returns: The summaries, as the files were when each was read.
  /// - Throws: ``CheckpointError/io(id:location:operation:errno:)`` when the directory cannot be read.
  @concurrent public func summaries() async throws -> [CheckpointSummary] {
    try await performing(nil) { folder in try folder.summaries() }
  }

  /// Lists the ids that have a record, even a damaged one.
  ///
  /// A file system does not order names, so the first page reads the names of the whole directory. While the directory
  /// does not change, further pages use what was read, until the last page. A file whose id is in neither its name nor
  /// its content, such as a damaged file with a long id, is left out; `load` of the id still reports it.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    try await performing(nil) { [self] folder in
      let change = try folder.settledChange()
      let known = listing.withLock { listing in listing?.change == change ? listing?.ids : nil }
      let ids = try known ?? folder.ids().sorted()
      let page = CheckpointPage(ofSorted: ids, after: last, limit: limit)
      listing.withLock { listing in listing = page.hasMore ? change.map { Listing(change: $0, ids: ids) } : nil }
      return page
    }
  }

  /// Returns the path of the file of an id.
  public func location(of id: String) -> String {
    ((try? CheckpointID(id)).map(folder.file(of:)) ?? folder.directory).path
  }

  private func held(_ lease: CheckpointLease) throws(CheckpointError) -> FileLease {
    guard let held = leases.withLock({ leases in leases[lease] }) else { throw lostLease(of: lease.id) }
    return held
  }

  /// Performs blocking work on a separate thread; errors of the system name the id.
  private func performing<Value: Sendable>(
    _ id: CheckpointID?,
    _ work: @escaping @Sendable (CheckpointFolder) throws -> Value
  ) async throws -> Value {
    try await threads.run { [folder] in
      do {
        return try work(folder)
      } catch let failure as FileFailure {
        throw CheckpointError(failure, of: id)
      }
    }
  }

  /// Repeats an attempt until the fence is free, on separate threads, without blocking any of them while it waits.
  private func untilFenceIsFree<Value: Sendable>(
    _ id: CheckpointID,
    _ attempt: @escaping @Sendable (CheckpointFolder) throws -> Value?
  ) async throws -> Value {
    let end = ContinuousClock.now.advanced(by: fenceTimeout)
    var delay = Duration.milliseconds(1)
    while true {
      if let value = try await performing(id, attempt) { return value }
      guard ContinuousClock.now < end else { throw CheckpointError(folder.busyFence, of: id) }
      // A real time, in which that of a test does not pass.
      try await WorkElsewhere.whileBusy { try await Task.sleep(for: delay) }
      delay = min(delay * 2, .milliseconds(100))
    }
  }
}
