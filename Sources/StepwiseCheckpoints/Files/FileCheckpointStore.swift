// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Checkpoints in a directory, a file for each id.
///
/// A stage is written beside the file, synced to the disk, renamed over it, and the directory is synced: at every instant
/// the file holds one stage or the next, whole. Its header names the format, the progression's type, the schema version,
/// the stage counter, the length and a checksum. Lowercase letters and digits of the id stand in the file's name; the rest
/// is escaped, and a long id is cut and continued by its hash.
///
/// While somebody runs under an id, a file in the hidden directory `.locks` is locked, which ends when its process ends,
/// in whatever way. Locks are advisory, and only as good as `flock` is on the file system: do not share a directory between
/// machines. The directory is the store's own, with `.locks` in it: whoever removes a locked file while its holder is there
/// lets a second run in. Nothing blocks the cooperative pool: all operations run on threads of their own. Only whoever
/// leaves a loop over stages removes the locked file where it is, so that the id is free at once. Taking an id waits, also
/// in a cancelled Task, while another process counts up `.locks/fence`, which takes a read and a write.
public final class FileCheckpointStore: CheckpointStore {
  /// The directory.
  public let directory: URL

  private let path: String
  private let leases = Lock([CheckpointID: FileLease]())
  private let threads = IOThreads.shared

  /// Makes a store in a directory, which is made if it is not there.
  ///
  /// - Parameter directory: A directory of a local file system; there may be any number of stores in it.
  /// - Throws: ``CheckpointError/io(id:location:operation:errno:)`` when the directory cannot be made.
  public init(directory: URL) throws {
    self.directory = directory
    var path = directory.path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    self.path = path
    guard directory.isFileURL else { throw FilePlace(id: "", path: directory.absoluteString).failure("mkdir", EINVAL) }
    try Self.makeDirectory(path)
  }

  /// Takes the lease of an id.
  @concurrent public func acquire(_ id: String) async throws -> CheckpointLease {
    let key = try CheckpointID(id)
    let lease = try await threads.run { [self] in
      try FileLease.acquire(
        place(id, ".locks/" + CheckpointName(key).lock),
        in: place(id, ".locks"),
        checkpoint: place(id, CheckpointName(key).checkpoint)
      )
    }
    leases.withLock { leases in leases[key] = lease }
    return CheckpointLease(id: id, fence: lease.fence)
  }

  /// Returns the lease as it is: it ends with its holder.
  @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    _ = try held(lease)
    return lease
  }

  /// Gives a lease back.
  @concurrent public func release(_ lease: CheckpointLease) async throws {
    try await threads.run { [self] in letGo(of: lease) }
  }

  /// Gives a lease back.
  public func letGo(of lease: CheckpointLease) {
    guard let key = try? CheckpointID(lease.id) else { return }
    let ended = leases.withLock { leases in leases[key]?.fence == lease.fence ? leases.removeValue(forKey: key) : nil }
    ended?.end()
  }

  /// Reads what was last saved.
  ///
  /// A file that cannot be read is left as it is.
  @concurrent public func load(_ id: String) async throws -> CheckpointRecord? {
    let name = try CheckpointName(CheckpointID(id))
    return try await threads.run { [self] in try record(of: id, name) }
  }

  /// Replaces the record of an id, provided that its version is the expected one.
  @concurrent public func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    let key = try CheckpointID(record.id)
    guard try CheckpointID(lease.id) == key else { throw lost(record.id) }
    let held = try held(lease)
    let name = CheckpointName(key)
    try await threads.run { [self] in
      try held.saving(load: { () throws(CheckpointError) in try self.record(of: record.id, name)?.version }) {
        (stored: UInt64?) throws(CheckpointError) in
        guard stored == version else {
          throw .conflict(id: record.id, location: location(of: record.id), expected: version, found: stored)
        }
        try write(record, name)
        return record.version
      }
    }
  }

  /// Forgets what is kept under an id.
  @concurrent public func remove(_ id: String) async throws {
    let name = try CheckpointName(CheckpointID(id))
    let lease = try await acquire(id)
    try await threads.run { [self] in
      defer { letGo(of: lease) }
      try place(id, name.temporary).unlink()
      try place(id, name.checkpoint).unlink()
      try FilePlace(id: id, path: path).syncDirectory()
    }
  }

  /// Lists the ids that keep something, also what is damaged.
  ///
  /// It reads the whole directory for each page. A file does not keep the others from being listed: one whose id stands
  /// neither in its name nor in its content, as that of a long id may when it is damaged, is left out. `load` of the id
  /// still reports it.
  @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    let ids = try await threads.run { [self] in
      try place("").names().compactMap { name throws(CheckpointError) in try id(in: name) }
    }
    return CheckpointPage(of: ids, after: last, limit: limit)
  }

  /// The path of the file that keeps an id.
  public func location(of id: String) -> String {
    guard let key = try? CheckpointID(id) else { return path }
    return place(id, CheckpointName(key).checkpoint).path
  }

  private func record(of id: String, _ name: CheckpointName) throws(CheckpointError) -> CheckpointRecord? {
    let place = place(id, name.checkpoint)
    let opened: OpenFile?
    do {
      opened = try place.openIfThere(O_RDONLY)
    } catch .io(_, _, _, ELOOP) {
      throw place.damaged("a symbolic link is in its place, which is not followed")
    }
    guard let file = opened else { return nil }
    let record = try CheckpointFile.record(in: file)
    guard record.id.utf8.elementsEqual(id.utf8) else {
      throw place.damaged("it was stored under the id \"\(record.id)\"")
    }
    return record
  }

  private func write(_ record: CheckpointRecord, _ name: CheckpointName) throws(CheckpointError) {
    let (temporary, checkpoint) = (place(record.id, name.temporary), place(record.id, name.checkpoint))
    do {
      let file = try temporary.open(O_WRONLY | O_CREAT | O_TRUNC)
      try file.write(CheckpointFile.bytes(of: record))
      try file.sync()
    } catch {
      try? temporary.unlink()
      throw error
    }
    try temporary.rename(to: checkpoint)
    try FilePlace(id: record.id, path: path).syncDirectory()
  }

  private func id(in file: String) throws(CheckpointError) -> String? {
    switch CheckpointName.meaning(of: file) {
    case .id(let id): return id
    case .stranger: return nil
    case .inside:
      do {
        guard let opened = try place("", file).openIfThere(O_RDONLY) else { return nil }
        let id = try CheckpointFile.id(in: opened)
        return try CheckpointName(CheckpointID(id)).checkpoint == file ? id : nil
      } catch .damaged, .invalidID, .io(_, _, _, EACCES), .io(_, _, _, EIO), .io(_, _, _, ELOOP) {
        return nil
      }
    }
  }

  private func place(_ id: String, _ name: String = "") -> FilePlace {
    FilePlace(id: id, path: name.isEmpty ? path : path + "/" + name)
  }

  private func held(_ lease: CheckpointLease) throws(CheckpointError) -> FileLease {
    let key = try CheckpointID(lease.id)
    guard let held = leases.withLock({ leases in leases[key] }), held.fence == lease.fence else { throw lost(lease.id) }
    return held
  }

  private func lost(_ id: String) -> CheckpointError { .lostLease(id: id, location: location(of: id)) }

  private static func makeDirectory(_ path: String) throws(CheckpointError) {
    let place = FilePlace(id: "", path: path)
    do {
      try place.makeDirectory()
    } catch .io(_, _, _, ENOENT) where path.contains("/") {
      let parent = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex)
      guard !parent.isEmpty else { throw place.failure("mkdir", ENOENT) }
      try makeDirectory(String(parent))
      try place.makeDirectory()
    } catch .io(_, _, _, EROFS) {
      // What is there can be read all the same.
      guard try place.openIfThere(O_RDONLY | O_DIRECTORY) != nil else { throw place.failure("mkdir", EROFS) }
    }
    _ = try place.open(O_RDONLY | O_DIRECTORY)
  }
}
