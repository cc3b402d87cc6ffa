// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFiles

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Checkpoints in a directory, a file for each id.
///
/// A stage is written beside the file, synced to the disk, renamed over it, and the directory is synced: at every instant
/// the file holds one stage or the next, whole. Its header names the format, the progression's type, the schema version,
/// the stage counter, the length and a checksum. Lowercase letters and digits of the id stand in the file's name; the rest
/// is escaped, and a long id is cut and continued by its hash. Files are created for their owner alone, unless the store is
/// created with other permissions.
///
/// While an id is held, a file in the hidden directory `.locks` is locked. The kernel unlocks it when the process ends, in
/// whatever way. A process that was made by `fork` without `exec` while an id is held holds it as well, until it ends. Locks
/// are advisory, and only as good as `flock` is on the file system: do not share a directory between machines. The
/// directory is the store's own, with `.locks` in it: removing the locked file of a holder lets a second run in.
///
/// Nothing blocks the cooperative pool: all operations run on threads of their own. Only releasing the iterator of a loop
/// over stages removes the locked file at once, so that the id is free. Acquiring an id waits while another process counts
/// up `.locks/fence`, which takes a read and a write: up to ten seconds, for a process that is stopped meanwhile, and until
/// the waiting Task is cancelled.
///
/// When the disk is full or read-only, what is stored can be read, the result of a finished id is returned, and, unless it
/// is read-only, every id can be removed.
public final class FileCheckpointStore: CheckpointStore {
  /// The directory.
  public let directory: URL

  private let folder: CheckpointFolder
  private let leases = Lock([CheckpointID: FileLease]())
  private let threads = IOThreads.shared

  /// Creates a store in a directory, which is made with those above it if it is not there.
  ///
  /// - Parameters:
  ///   - directory: A directory of a local file system; there may be any number of stores in it.
  ///   - permissions: Those of the files and directories that the store creates.
  /// - Throws: ``CheckpointError/io(id:location:operation:errno:)`` when the directory cannot be made.
  public init(directory: URL, permissions: CheckpointPermissions = .owner) throws {
    self.directory = directory
    var path = directory.path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    folder = CheckpointFolder(directory: FileLocation(path), permissions: permissions)
    guard directory.isFileURL else {
      let file = FileLocation(directory.absoluteString)
      throw CheckpointPath(id: nil, file: file).failure("mkdir", SystemMessage.invalidArgument)
    }
    try folder.create()
  }

  /// Takes the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease {
    let id = try CheckpointID(id)
    let (locked, first) = try await threads.run { [folder] in
      let locked = try folder.leases.lock(id, checkpoint: folder.file(of: id))
      do {
        return (locked, try folder.leases.nextFence(for: id))
      } catch {
        locked.end()
        throw error
      }
    }
    let fence: UInt64
    do {
      fence = try await untilFenceIsFree(id, first) { [folder] in try folder.leases.nextFence(for: id) }
    } catch {
      // On a thread of its own, although the work does not throw.
      try? await threads.run { locked.end() }
      throw error
    }
    leases.withLock { leases in leases[id] = FileLease(locked, fence: fence) }
    return CheckpointLease(id: id.text, fence: fence)
  }

  /// Returns the lease as it is: it ends with its holder.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    _ = try held(lease, for: CheckpointID(lease.id))
    return lease
  }

  /// Releases a lease.
  @concurrent public func release(_ lease: CheckpointLease) async throws {
    try await threads.run { [self] in releaseWithoutWaiting(lease) }
  }

  /// Releases a lease.
  public func releaseWithoutWaiting(_ lease: CheckpointLease) {
    guard let id = try? CheckpointID(lease.id) else { return }
    let ended = leases.withLock { leases in leases[id]?.fence == lease.fence ? leases.removeValue(forKey: id) : nil }
    ended?.end()
  }

  /// Reads what was last saved.
  ///
  /// A file that cannot be read is left as it is.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? {
    let id = try CheckpointID(id)
    return try await threads.run { [folder] in try folder.record(of: id) }
  }

  /// Replaces the record of an id, provided that its version is the expected one.
  @concurrent public func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    let id = try CheckpointID(record.id)
    let held = try held(lease, for: id)
    try await threads.run { [folder] in
      try held.saving(load: { () throws(CheckpointError) in try folder.record(of: id)?.version }) {
        (stored: UInt64?) throws(CheckpointError) in
        guard stored == version else {
          throw .conflict(id: id.text, location: folder.file(of: id).path, expected: version, found: stored)
        }
        try folder.write(record, of: id)
        return record.version
      }
    }
  }

  /// Removes what is stored under an id.
  ///
  /// It works on a full disk, on which no lock file can be made, as well.
  @concurrent public func remove(_ id: String) async throws {
    let id = try CheckpointID(id)
    try await untilFenceIsFree(id, nil) { [folder] in try folder.removeWhenFree(id) }
  }

  /// Lists the ids that something is stored under, also what is damaged.
  ///
  /// It reads the whole directory for each page. A file does not keep the others from being listed: one whose id stands
  /// neither in its name nor in its content, as that of a long id may when it is damaged, is left out. `load` of the id
  /// still reports it.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    let ids = try await threads.run { [folder] in try folder.ids() }
    return CheckpointPage(of: ids, after: last, limit: limit)
  }

  /// The path of the file that holds an id.
  public func location(of id: String) -> String {
    ((try? CheckpointID(id)).map(folder.file(of:)) ?? folder.directory).path
  }

  private func held(_ lease: CheckpointLease, for id: CheckpointID) throws(CheckpointError) -> FileLease {
    guard let held = leases.withLock({ leases in leases[id] }), held.fence == lease.fence,
      lease.id.utf8.elementsEqual(id.bytes)
    else { throw .lostLease(id: id.text, location: folder.file(of: id).path) }
    return held
  }

  /// Repeats an attempt until the fence is free for it, on threads of its own, but waiting on none of them.
  private func untilFenceIsFree<Value: Sendable>(
    _ id: CheckpointID,
    _ first: Value?,
    _ attempt: @escaping @Sendable () throws -> Value?
  ) async throws -> Value {
    if let first { return first }
    let end = ContinuousClock.now.advanced(by: .seconds(10))
    var delay = Duration.milliseconds(1)
    while true {
      if let value = try await threads.run(attempt) { return value }
      guard ContinuousClock.now < end else { throw folder.leases.fenceIsBusy(id) }
      try await Task.sleep(for: delay)
      delay = min(delay * 2, .milliseconds(100))
    }
  }
}
