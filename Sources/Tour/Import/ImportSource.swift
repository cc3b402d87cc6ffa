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

/// A text that is to be imported, as it was when the import began.
struct ImportSource: Codable, Equatable, Sendable {
  /// The path from the root on: `./a.txt` and `a.txt` are one text.
  let path: String
  let byteCount: Int
  /// When it was last changed, in nanoseconds.
  let modified: Int64

  /// Looks at a file.
  ///
  /// - Throws: `FileError` for what cannot be read.
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

  /// Where the index is written.
  var indexPath: String { path + ".index" }

  /// Where the checkpoint and the parts of the index are, as long as the import is not done.
  var workPath: String { path + ".index.work" }

  /// Where the index is until it is whole.
  var partialIndexPath: String { workPath + "/index.partial" }

  func partPath(_ batch: Int) -> String { "\(workPath)/part-\(batch)" }

  /// Reads from some place to the end of the line that the given number of bytes ends in.
  ///
  /// - Throws: `FileError`, also when the text is no longer the one that the import began with.
  func lines(from offset: Int, upTo end: Int) throws(FileError) -> [UInt8] {
    guard try ImportSource(path) == self else {
      throw FileError("import", path, because: "it was changed meanwhile; begin again with the same command")
    }
    let file = try RegularFile.reading(path)
    try file.seek(to: offset)
    var bytes: [UInt8] = []
    while offset + bytes.count < end {
      guard let more = try file.read(upTo: end - offset - bytes.count) else { return bytes }
      bytes += more
    }
    // The line that crosses the end belongs here, and nothing after it.
    let newline = UInt8(ascii: "\n")
    while bytes.last != newline, let more = try file.read(upTo: 1 << 12) {
      if let end = more.firstIndex(of: newline) { return bytes + more[...end] }
      bytes += more
    }
    return bytes
  }
}
