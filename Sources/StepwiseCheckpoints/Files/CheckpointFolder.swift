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
///
/// The methods throw the errors of the system as they are; the store adds the id.
struct CheckpointFolder: Sendable {
  let directory: FileLocation
  let permissions: CheckpointPermissions

  /// Returns the file of an id.
  func file(of id: CheckpointID) -> FileLocation { directory.appending(CheckpointName(id).checkpoint) }

  private func temporary(of id: CheckpointID) -> FileLocation { directory.appending(CheckpointName(id).temporary) }

  // MARK: - Records

  /// Returns the record of an id; nil when there is none.
  func record(of id: CheckpointID) throws -> CheckpointRecord? {
    try reading(file(of: id), of: id) { file in
      let record = try file.record(of: id)
      guard record.id.utf8.elementsEqual(id.bytes) else {
        throw DataError(reason: "it was stored under the id \"\(record.id)\"")
      }
      return record
    }
  }

  /// Reads a file, and names it when it is damaged; returns nil when there is none.
  func reading<Value>(
    _ location: FileLocation,
    of id: CheckpointID?,
    _ read: (CheckpointFile) throws -> Value
  ) throws -> Value? {
    do {
      return try location.openIfPresent(O_RDONLY).map { try read(CheckpointFile($0)) }
    } catch let error as DataError {
      throw CheckpointError.damaged(id: id?.text ?? "", location: location.path, reason: error.reason)
    } catch let failure as FileFailure where failure.code == ELOOP {
      let reason = "it is a symbolic link, which is not followed"
      throw CheckpointError.damaged(id: id?.text ?? "", location: location.path, reason: reason)
    }
  }

  /// Writes a record to a temporary file and renames it over the last one.
  func write(_ record: CheckpointRecord, of id: CheckpointID, format: Int = 1) throws(FileFailure) {
    let temporary = temporary(of: id)
    do {
      // A killed process may have left one.
      try temporary.unlink()
      let new = try temporary.open(O_WRONLY | O_CREAT | O_EXCL, mode: permissions.files)
      try new.write(CheckpointFile.bytes(of: record, format: format), at: 0)
      try new.sync()
    } catch {
      _ = try? temporary.unlink()
      throw error
    }
    try temporary.rename(to: file(of: id))
    try directory.syncDirectory()
  }

  /// Removes the record of an id.
  func remove(_ id: CheckpointID) throws {
    let file = file(of: id)
    do {
      try temporary(of: id).unlink()
      try file.unlink()
      try directory.syncDirectory()
    } catch {
      guard file.isDirectory else { throw error }
      let reason = "it is a directory, which you have to remove yourself"
      throw CheckpointError.damaged(id: id.text, location: file.path, reason: reason)
    }
  }

  // MARK: - Listing

  /// Returns the last change of the names in the directory; nil when it was so recent that a further change may have the
  /// same time, because file systems measure time in steps.
  func settledChange() throws(FileFailure) -> FileFacts? {
    guard let facts = try directory.facts() else { return nil }
    return Double(WallClock.now.seconds) - facts.lastChange > 3 ? facts : nil
  }

  /// Returns the ids that have a record.
  func ids() throws -> [CheckpointID] { try directory.names().compactMap(id) }

  private func id(in name: String) throws -> CheckpointID? {
    if let id = CheckpointName.id(in: name) { return id }
    guard name.hasSuffix(CheckpointName.suffix), name.contains("~") else { return nil }
    do {
      let id = try reading(directory.appending(name), of: nil) { try $0.id() }
      return id.flatMap { CheckpointName($0).checkpoint == name ? $0 : nil }
    } catch is CheckpointError {
      return nil
    } catch let failure as FileFailure where [EACCES, EIO].contains(failure.code) {
      return nil
    }
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
    let name = id.bytes.flatMap { byte in
      Self.representsItself(byte) ? [byte] : Array("%\(SHA256.hexadecimal([byte]))".utf8)
    }
    guard name.count > Self.longest else {
      stem = String(decoding: name, as: UTF8.self)
      return
    }
    // Cut before the first byte that does not leave room for the hash.
    var start = name.prefix(Self.longest - 65)
    if let escape = start.suffix(2).lastIndex(of: UInt8(ascii: "%")) { start = start[..<escape] }
    stem = String(decoding: start, as: UTF8.self) + "~" + SHA256.hex(id.bytes)
  }

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

  /// Returns the id whose file has a name; nil when the name does not contain it, because it was cut, or when it is not that
  /// of an id.
  static func id(in file: String) -> CheckpointID? {
    let parts = file.utf8.dropLast(suffix.utf8.count).split(
      separator: UInt8(ascii: "%"),
      omittingEmptySubsequences: false
    )
    var bytes = Array(parts[0])
    for part in parts.dropFirst() {
      guard let byte = UInt8(String(decoding: part.prefix(2), as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
      bytes += part.dropFirst(2)
    }
    // Only the spelling that a store writes is the file of an id.
    guard let text = String(validating: bytes, as: UTF8.self), let id = try? CheckpointID(text),
      CheckpointName(id).checkpoint == file
    else { return nil }
    return id
  }
}

/// The permissions of the files and directories that a `FileCheckpointStore` creates.
///
/// Change them if a program of another user has to read your checkpoints. The process mask (`umask`) is applied to
/// them. Existing files and directories keep their permissions; a checkpoint receives the new ones with the next save.
public struct CheckpointPermissions: Sendable, Hashable {
  /// The mode of files, such as `0o600`.
  public var files: UInt16

  /// The mode of directories, such as `0o700`.
  public var directories: UInt16

  /// Creates permissions from modes.
  ///
  /// - Parameters:
  ///   - files: The mode of files.
  ///   - directories: The mode of directories.
  public init(files: UInt16, directories: UInt16) {
    self.files = files
    self.directories = directories
  }

  /// Only the owner may read and write, because stages hold users' data.
  public static let owner = CheckpointPermissions(files: 0o600, directories: 0o700)

  /// The owner's group may read and write as well.
  public static let group = CheckpointPermissions(files: 0o660, directories: 0o770)
}
