// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An error of reading or writing a file, described in one line.
struct FileError: Error, CustomStringConvertible {
  /// The reason, without the file.
  let reason: String
  let description: String

  /// Creates an error from an operation on a file and a reason in words.
  init(_ what: String, _ path: String, because reason: String) {
    self.reason = reason
    description = "cannot \(what) '\(path)': \(reason)"
  }

  /// Creates an error from an operation on a file and a system error.
  init(_ what: String, _ path: String, code: Int32) {
    self.init(what, path, because: Self.words(for: code))
  }

  /// Runs calls on a file; their errors name the operation.
  static func naming<Value>(
    _ what: String,
    _ path: String,
    _ body: () throws(FileFailure) -> Value
  ) throws(FileError) -> Value {
    do {
      return try body()
    } catch {
      throw FileError(what, path, code: error.code)
    }
  }

  /// The system's description of an error.
  static func words(for code: Int32) -> String { SystemMessage.text(for: code).lowercased() }
}

/// An open regular file, closed when it is released; its errors name the operation for the user.
struct RegularFile: Sendable {
  private let file: OpenFile
  /// The operation for the user.
  private let purpose: String

  /// Opens a file for reading.
  ///
  /// - Throws: `FileError`, also for a directory, a device or a pipe, whose bytes may never end.
  static func reading(_ path: String) throws(FileError) -> RegularFile {
    let file = try RegularFile(path, O_RDONLY, to: "read")
    let kind = try file.status().st_mode & S_IFMT
    guard kind != S_IFDIR else { throw FileError("read", path, code: EISDIR) }
    guard kind == S_IFREG else { throw FileError("read", path, because: "it is not a regular file") }
    return file
  }

  /// Creates a file for writing; it must not exist.
  static func creating(_ path: String) throws(FileError) -> RegularFile {
    try RegularFile(path, O_WRONLY | O_CREAT | O_EXCL, to: "create")
  }

  /// Opens an existing file for writing.
  static func writing(_ path: String) throws(FileError) -> RegularFile {
    try RegularFile(path, O_WRONLY, to: "write")
  }

  private init(_ path: String, _ flags: Int32, to purpose: String) throws(FileError) {
    self.purpose = purpose
    file = try FileError.naming(purpose, path) { () throws(FileFailure) in
      try FileLocation(path).open(flags, followsLinks: true)
    }
  }

  /// The length that the system reports.
  func byteCount() throws(FileError) -> Int { Int(try status().st_size) }

  /// The system's status of the file.
  func status() throws(FileError) -> stat { try named { () throws(FileFailure) in try file.status() } }

  /// Moves to an offset in bytes from the start.
  func seek(to offset: Int) throws(FileError) { try named { () throws(FileFailure) in try file.seek(to: offset) } }

  /// Reads the next bytes; nil at the end.
  func read(upTo limit: Int) throws(FileError) -> [UInt8]? {
    let bytes = try named { () throws(FileFailure) in try file.read(limit) }
    return bytes.isEmpty ? nil : bytes
  }

  /// Writes all bytes.
  func write(_ bytes: ArraySlice<UInt8>) throws(FileError) {
    try named { () throws(FileFailure) in try file.write(bytes) }
  }

  /// Waits until the written bytes are on the disk.
  func synchronize() throws(FileError) { try named { () throws(FileFailure) in try file.sync() } }

  private func named<Value>(_ body: () throws(FileFailure) -> Value) throws(FileError) -> Value {
    try FileError.naming(purpose == "create" ? "write" : purpose, file.location.path, body)
  }
}

/// Files that are read and written as a whole.
enum WholeFile {
  /// Reads all bytes.
  ///
  /// - Throws: `FileError`.
  static func read(_ path: String) throws(FileError) -> [UInt8] {
    let file = try RegularFile.reading(path)
    var bytes: [UInt8] = []
    while let more = try file.read(upTo: 1 << 20) { bytes += more }
    return bytes
  }

  /// Writes to a temporary file and renames it, so that the file is either complete or unchanged whenever the process
  /// ends.
  ///
  /// A temporary file that another process left there is replaced.
  ///
  /// - Throws: `FileError`.
  static func write(_ bytes: [UInt8], to path: String, by otherPath: String? = nil) throws(FileError) {
    let partialPath = otherPath ?? path + ".partial"
    _ = try? FileLocation(partialPath).unlink()
    let file = try RegularFile.creating(partialPath)
    try file.write(bytes[...])
    try file.synchronize()
    try FileError.naming("write", path) { () throws(FileFailure) in
      try FileLocation(partialPath).rename(to: FileLocation(path))
    }
  }
}

/// A file that is written under a temporary name beside its destination, and renamed when it is complete.
///
/// A file at the destination stays unchanged until then, whatever goes wrong.
struct PartialFile: Sendable {
  /// The destination.
  let path: String
  /// The temporary path, in the same directory, because the file is renamed.
  private let partialPath: String

  /// Creates the description of a file; nothing is written yet.
  init(for path: String) {
    self.path = path
    // Compared by bytes, because a slash followed by a combining mark is one character.
    let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { slash in path[...slash] } ?? ""
    partialPath = "\(directory).tour-\(String(UInt64.random(in: 0 ... .max), radix: 36)).partial"
  }

  /// Creates the empty file, to detect early whether it can be written.
  ///
  /// - Throws: `FileError`, also when the destination is something other than a regular file.
  func create() throws(FileError) {
    guard !path.isEmpty, path.utf8.last != UInt8(ascii: "/") else {
      throw FileError("write", path, because: "it names no file")
    }
    if let status = try FileError.naming("write", path, { () throws(FileFailure) in try FileLocation(path).status() }) {
      // Renaming over a device such as /dev/null would remove it, and renaming over a link would replace it.
      guard status.st_mode & S_IFMT != S_IFDIR else { throw FileError("write", path, code: EISDIR) }
      guard status.st_mode & S_IFMT == S_IFREG else {
        throw FileError("write", path, because: "something is there that is not a regular file")
      }
    }
    do {
      _ = try RegularFile.creating(partialPath)
    } catch {
      throw FileError("write", path, because: error.reason)  // the user knows nothing of the other name
    }
  }

  /// Writes the file and renames it to its destination.
  ///
  /// - Throws: `FileError`, and `CancellationError` when the task is cancelled before everything is written.
  func complete(with bytes: [UInt8]) throws {
    let file = try RegularFile.writing(partialPath)
    var rest = bytes[...]
    while !rest.isEmpty {
      try Task.checkCancellation()
      try file.write(rest.prefix(1 << 20))
      rest = rest.dropFirst(1 << 20)
    }
    try file.synchronize()
    try FileError.naming("write", path) { () throws(FileFailure) in
      try FileLocation(partialPath).rename(to: FileLocation(path))
    }
  }

  /// Removes an incomplete file; does nothing when the file is complete or was never created.
  func remove() {
    _ = try? FileLocation(partialPath).unlink()
  }
}

/// A folder that is created if it is missing, and removed again if it stays empty.
struct NewFolder: Sendable {
  /// The folders that were missing, innermost first.
  private let created: [String]

  /// Creates the folder and its parents.
  ///
  /// - Throws: `FileError`.
  init(_ path: String) throws(FileError) {
    var (missing, rest) = ([String](), path)
    while !rest.isEmpty, !FileManager.default.fileExists(atPath: rest) {
      missing.append(rest)
      rest = (rest as NSString).deletingLastPathComponent
    }
    created = missing
    for folder in missing.reversed() where mkdir(folder, 0o777) != 0 && errno != EEXIST {
      throw FileError("create", folder, code: errno)
    }
  }

  func removeIfEmpty() {
    for folder in created where rmdir(folder) != 0 { return }
  }
}

extension Step<URL, [UInt8]> {
  /// Reads a file, and reports the progress.
  static var readFile: Step {
    Step("read") { url in
      let file = try RegularFile.reading(url.relativePath)
      let expected = try file.byteCount()
      var bytes: [UInt8] = []
      repeat {
        try Task.checkCancellation()
        guard max(expected, bytes.count) <= PictureSource.maximumByteCount else {
          throw FileError("read", url.relativePath, because: PictureSource.tooLarge)
        }
        StepProgress.report(Double(bytes.count) / Double(max(1, expected)))
        guard let more = try file.read(upTo: 1 << 20) else { return bytes }
        bytes += more
      } while true
    }
  }
}

/// The source of a picture, and its size limit.
enum PictureSource {
  /// The maximum number of bytes read into memory.
  static let maximumByteCount = 100_000_000

  /// The message for a larger picture.
  static let tooLarge = "it is larger than \(maximumByteCount / 1_000_000) MB; use a smaller picture"

  /// A URL that cannot be used.
  struct InvalidAddress: Error, CustomStringConvertible {
    let description: String
  }

  /// The file or the URL that an argument names.
  ///
  /// - Throws: `InvalidAddress` for a URL with a scheme other than HTTP. Its existence is not checked.
  static func url(_ words: String) throws(InvalidAddress) -> URL {
    guard !words.isEmpty else {
      throw InvalidAddress(description: "the picture has no name: give a file or an address")
    }
    guard words.contains("://") else { return URL(fileURLWithPath: words) }
    if let url = URL(string: words) {
      if url.isFileURL { return URL(fileURLWithPath: url.path) }
      if ["http", "https"].contains(url.scheme?.lowercased()), url.host?.isEmpty == false { return url }
    }
    throw InvalidAddress(description: "cannot fetch '\(words)': give a file, or an address such as http://host/cat.bmp")
  }
}

extension FileCheckpointStore {
  /// Removes an id and the directory, unless another process uses the id.
  func clear(_ id: String) async {
    guard (try? await remove(id)) != nil else { return }
    let locks = directory.path + "/.locks"
    _ = unlink(locks + "/fence")
    // Directories that are not empty stay.
    _ = rmdir(locks)
    _ = rmdir(directory.path)
  }
}
