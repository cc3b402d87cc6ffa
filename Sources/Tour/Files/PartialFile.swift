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

/// A file in the making: it is written beside its place, and moved there when it is complete.
///
/// What stands in its place stays as it is until then, whatever goes wrong.
struct PartialFile: Sendable {
  /// Where the file will be.
  let path: String
  /// Where it is until then: in the same directory, since it is to be renamed.
  private let partialPath: String

  /// Creates the description of a file; nothing is written yet.
  init(for path: String) {
    self.path = path
    // By bytes, because a slash and a combining mark after it are one character.
    let directory = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { slash in path[...slash] } ?? ""
    partialPath = "\(directory).tour-\(String(UInt64.random(in: 0 ... .max), radix: 36)).partial"
  }

  /// Creates the empty file, to learn early whether it can be written.
  ///
  /// - Throws: `FileError`, also when something else than a regular file is in the place.
  func create() throws(FileError) {
    guard !path.isEmpty, path.utf8.last != UInt8(ascii: "/") else {
      throw FileError("write", path, because: "it names no file")
    }
    if let status = try FileError.naming("write", path, { () throws(FileFailure) in try FileLocation(path).status() }) {
      // Renamed over, a device such as /dev/null would be gone, and a link would no longer be one.
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

  /// Writes the file and moves it to its place.
  ///
  /// - Throws: `FileError`, and `CancellationError` when the Task is cancelled before all is written.
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

  /// Removes what is not complete; does nothing when the file is in its place, or was never created.
  func remove() {
    _ = try? FileLocation(partialPath).unlink()
  }
}
