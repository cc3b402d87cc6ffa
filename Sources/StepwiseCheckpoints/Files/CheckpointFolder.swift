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
  func write(_ record: CheckpointRecord, of id: CheckpointID, format: Int = 1) throws(CheckpointError) {
    let (temporary, checkpoint) = (directory.appending(CheckpointName(id).temporary), file(of: id))
    let bytes = CheckpointFile.bytes(of: record, format: format)
    try CheckpointPath(id: id, file: checkpoint).naming { () throws(FileFailure) in
      try fill(temporary, with: bytes)
      try temporary.rename(to: checkpoint)
      try directory.syncDirectory()
    }
  }

  /// Writes a record to which entries will be appended.
  func writeLog(_ record: CheckpointRecord, of id: CheckpointID) throws(CheckpointError) -> CheckpointLog {
    try write(record, of: id, format: CheckpointFile.format)
    let path = CheckpointPath(id: id, file: file(of: id))
    return try path.naming { () throws(FileFailure) in
      let file = try path.file.open(O_WRONLY)
      return CheckpointLog(path: path, file: file, end: Int(try file.status().st_size))
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
    return Double(WallClock.now.seconds) - facts.lastChange > 3 ? facts : nil
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

/// A checkpoint file to which entries are appended.
struct CheckpointLog: Sendable {
  let path: CheckpointPath
  let file: OpenFile
  private(set) var end: Int

  /// Appends an entry and syncs it.
  mutating func append(_ entry: [UInt8], version: UInt64) throws(CheckpointError) {
    let bytes = CheckpointFile.bytes(ofEntry: entry, version: version)
    try path.naming { () throws(FileFailure) in
      try file.write(bytes, at: end)
      try file.sync()
    }
    end += bytes.count
  }
}

/// A file of a store and the id that it belongs to: every error names both.
struct CheckpointPath: Sendable {
  /// Nil for what concerns the whole store.
  let id: CheckpointID?
  let file: FileLocation

  func failure(_ operation: String, _ code: Int32) -> CheckpointError {
    error(FileFailure(operation, file.path, code))
  }

  func damaged(_ reason: String) -> CheckpointError {
    .damaged(id: id?.text ?? "", location: file.path, reason: reason)
  }

  /// Runs file operations whose errors name the id.
  func naming<Value>(_ body: () throws(FileFailure) -> Value) throws(CheckpointError) -> Value {
    do {
      return try body()
    } catch {
      throw self.error(error)
    }
  }

  private func error(_ failure: FileFailure) -> CheckpointError {
    .io(id: id?.text ?? "", location: failure.path, operation: failure.operation, errno: failure.code)
  }
}

/// The name of the file of an id.
///
/// Lowercase letters, digits, `-` and `_` represent themselves. Each other byte of the UTF-8 is written as `%` and two
/// lowercase hexadecimal digits. No two ids share a name, even on file systems that ignore case, and no name leaves the
/// directory. A name that is too long is cut and followed by `~` and the SHA-256 of the id; the file contains the whole
/// id.
struct CheckpointName: Hashable, Sendable {
  static let suffix = ".checkpoint"
  /// The maximum length of a name without suffix: file systems allow 255 bytes with one.
  private static let longest = 220

  /// The name without a suffix.
  let stem: String

  init(_ id: CheckpointID) {
    var name: [UInt8] = []
    name.reserveCapacity(id.bytes.count)
    // Where the name is cut if it is too long: before the first byte that does not leave room for the hash.
    var cut = 0
    for byte in id.bytes {
      if Self.representsItself(byte) {
        name.append(byte)
      } else {
        name += [UInt8(ascii: "%"), Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]]
      }
      if name.count <= Self.longest - 65 { cut = name.count }
    }
    if name.count > Self.longest {
      stem = String(decoding: name[..<cut], as: UTF8.self) + "~" + SHA256.hex(id.bytes)
    } else {
      stem = String(decoding: name, as: UTF8.self)
    }
  }

  private static let digits = Array("0123456789abcdef".utf8)

  private static func representsItself(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "_"):
      true
    default:
      false
    }
  }

  /// The file of the last stage.
  var checkpoint: String { stem + Self.suffix }

  /// The file to which a stage is written before it replaces the last one.
  var temporary: String { stem + ".temporary" }

  /// The file that is locked while a run holds the id.
  var lock: String { stem + ".lock" }

  /// What a file name says about the id.
  enum Meaning: Equatable {
    /// It is the file of this id.
    case id(CheckpointID)
    /// The file contains the id.
    case inside
    /// It is not the file of an id.
    case stranger
  }

  /// Returns the meaning of a file name in the directory.
  static func meaning(of file: String) -> Meaning {
    guard file.hasSuffix(suffix) else { return .stranger }
    var rest = Array(file.utf8.dropLast(suffix.utf8.count))[...]
    guard rest.count <= longest else { return .stranger }
    if rest.contains(UInt8(ascii: "~")) { return .inside }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(rest.count)
    while let byte = rest.popFirst() {
      if representsItself(byte) {
        bytes.append(byte)
        continue
      }
      // Only the spelling that a store writes is the file of an id.
      guard byte == UInt8(ascii: "%"), let high = rest.popFirst().flatMap(digits.firstIndex),
        let low = rest.popFirst().flatMap(digits.firstIndex), !representsItself(UInt8(high << 4 | low))
      else { return .stranger }
      bytes.append(UInt8(high << 4 | low))
    }
    guard let text = String(validating: bytes, as: UTF8.self), let id = try? CheckpointID(text) else {
      return .stranger
    }
    return .id(id)
  }
}
