// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The directory of a store, with a file for each id.
struct CheckpointFolder: Sendable {
  let directory: FileLocation
  let permissions: CheckpointPermissions

  var leases: LeaseFolder { LeaseFolder(directory: directory.appending(".locks"), permissions: permissions) }

  /// Returns the file of an id.
  func file(of id: CheckpointID) -> FileLocation { directory.appending(CheckpointName(id).checkpoint) }

  /// Creates the directory if it does not exist.
  func create() throws(CheckpointError) {
    try CheckpointPath(id: nil, file: directory).naming { () throws(FileFailure) in
      try directory.makeDirectories(mode: permissions.directories)
    }
  }

  /// Returns the record of an id; nil when there is none.
  func record(of id: CheckpointID) throws(CheckpointError) -> CheckpointRecord? {
    let path = CheckpointPath(id: id, file: file(of: id))
    guard let record = try record(at: path) else { return nil }
    guard record.id.utf8.elementsEqual(id.bytes) else {
      throw path.damaged("it was stored under the id \"\(record.id)\"")
    }
    return record
  }

  /// Returns the record in a file, whatever its id; nil when there is no file.
  func record(at path: CheckpointPath) throws(CheckpointError) -> CheckpointRecord? {
    do {
      guard let file = try path.naming({ () throws(FileFailure) in try path.file.openIfPresent(O_RDONLY) }) else {
        return nil
      }
      return try CheckpointFile.record(in: file, at: path)
    } catch .io(_, _, _, ELOOP) {
      throw path.damaged("it is a symbolic link, which is not followed")
    }
  }

  /// Writes a record to a temporary file and renames it over the last one.
  func write(_ record: CheckpointRecord, of id: CheckpointID) throws(CheckpointError) {
    let (temporary, checkpoint) = (directory.appending(CheckpointName(id).temporary), file(of: id))
    let bytes = CheckpointFile.bytes(of: record)
    try CheckpointPath(id: id, file: checkpoint).naming { () throws(FileFailure) in
      try fill(temporary, with: bytes)
      try temporary.rename(to: checkpoint)
      try directory.syncDirectory()
    }
  }

  /// Writes a file and syncs it; removes it when that fails.
  private func fill(_ file: FileLocation, with bytes: [UInt8]) throws(FileFailure) {
    do {
      let file = try create(file)
      try file.write(bytes)
      try file.sync()
    } catch {
      _ = try? file.unlink()
      throw error
    }
  }

  /// Creates a file with the configured permissions, and replaces one that a killed process left.
  private func create(_ file: FileLocation) throws(FileFailure) -> OpenFile {
    do {
      return try file.open(O_WRONLY | O_CREAT | O_EXCL, mode: permissions.files)
    } catch  where error.code == EEXIST {
      try file.unlink()
      return try file.open(O_WRONLY | O_CREAT | O_EXCL, mode: permissions.files)
    } catch {
      throw error
    }
  }

  /// Removes the record of an id that is not held, even on a full disk, where no lock file can be created.
  ///
  /// - Returns: Nil while another process holds the fence; try again.
  func removeWhenFree(_ id: CheckpointID) throws(CheckpointError) -> Void? {
    let locked: LockedFile
    do {
      locked = try leases.lock(id, checkpoint: file(of: id))
    } catch {
      guard error.cannotWrite else { throw error }
      return try leases.withoutLockFile(id, checkpoint: file(of: id)) { () throws(CheckpointError) in try remove(id) }
    }
    defer { locked.end() }
    return try remove(id)
  }

  /// Removes the record of an id and its locked file, which ends the lease of a run that holds the id.
  func removeWithLease(_ id: CheckpointID) throws(CheckpointError) {
    try leases.end(id)
    try remove(id)
  }

  private func remove(_ id: CheckpointID) throws(CheckpointError) {
    let path = CheckpointPath(id: id, file: file(of: id))
    do throws(CheckpointError) {
      try path.naming { () throws(FileFailure) in
        try directory.appending(CheckpointName(id).temporary).unlink()
        try path.file.unlink()
        try directory.syncDirectory()
      }
    } catch {
      guard path.file.isDirectory else { throw error }
      throw path.damaged("it is a directory, which you have to remove yourself")
    }
  }

  /// Returns the last change of the names in the directory; nil when it was so recent that a further change may have the
  /// same time, because file systems measure time in steps.
  func settledChange() throws(CheckpointError) -> FileFacts? {
    let path = CheckpointPath(id: nil, file: directory)
    guard let facts = try path.naming({ () throws(FileFailure) in try directory.facts() }) else { return nil }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Double(now.tv_sec) - facts.lastChange > 3 ? facts : nil
  }

  /// Returns the ids that have a record.
  func ids() throws(CheckpointError) -> [CheckpointID] {
    let path = CheckpointPath(id: nil, file: directory)
    let names = try path.naming { () throws(FileFailure) in try directory.names() }
    var ids: [CheckpointID] = []
    ids.reserveCapacity(names.count)
    for name in names {
      if let id = try id(in: name) { ids.append(id) }
    }
    return ids
  }

  private func id(in name: String) throws(CheckpointError) -> CheckpointID? {
    switch CheckpointName.meaning(of: name) {
    case .id(let id): return id
    case .stranger: return nil
    case .inside:
      let path = CheckpointPath(id: nil, file: directory.appending(name))
      do {
        guard let file = try path.naming({ () throws(FileFailure) in try path.file.openIfPresent(O_RDONLY) }) else {
          return nil
        }
        let id = try CheckpointFile.id(in: file, at: path)
        return CheckpointName(id).checkpoint == name ? id : nil
      } catch .damaged, .invalidID, .io(_, _, _, EACCES), .io(_, _, _, EIO), .io(_, _, _, ELOOP) {
        return nil
      }
    }
  }
}
