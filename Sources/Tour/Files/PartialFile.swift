// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

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
