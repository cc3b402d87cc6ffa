// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A text to import, as it was when the import started.
struct ImportSource: Codable, Equatable, Sendable {
  /// The absolute path: `./a.txt` and `a.txt` are one text.
  let path: String
  let byteCount: Int
  /// The modification time, in nanoseconds.
  let modified: Int64

  /// Reads the state of a file.
  ///
  /// - Throws: `FileError` for a file that cannot be read.
  init(_ path: String) throws(FileError) {
    let status = try RegularFile.reading(path).status()
    self.path = URL(fileURLWithPath: path).standardizedFileURL.path
    byteCount = Int(status.st_size)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    modified = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// The path of the index.
  var indexPath: String { path + ".index" }

  /// The directory of the checkpoint and the parts of the index, until the import has completed.
  var workPath: String { path + ".index.work" }

  /// The path of the incomplete index.
  var partialIndexPath: String { workPath + "/index.partial" }

  func partPath(_ batch: Int) -> String { "\(workPath)/part-\(batch)" }

  /// Reads from an offset to the end of the line that contains the given end.
  ///
  /// - Throws: `FileError`, also when the text has changed since the import started.
  func lines(from offset: Int, upTo end: Int) throws(FileError) -> [UInt8] {
    guard try ImportSource(path) == self else {
      throw FileError("import", path, because: "it was changed meanwhile; start over with the same command")
    }
    let file = try RegularFile.reading(path)
    try file.seek(to: offset)
    var bytes: [UInt8] = []
    while offset + bytes.count < end {
      guard let more = try file.read(upTo: end - offset - bytes.count) else { return bytes }
      bytes += more
    }
    // The line that crosses the end is included, and nothing after it.
    let newline = UInt8(ascii: "\n")
    while bytes.last != newline, let more = try file.read(upTo: 1 << 12) {
      if let end = more.firstIndex(of: newline) { return bytes + more[...end] }
      bytes += more
    }
    return bytes
  }
}
