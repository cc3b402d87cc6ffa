// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
import StepwiseFiles

/// Counts the lines and words of a text, in stages that may end with the process and resume in another one.
enum TextImport: Progression, Codable, Equatable {
  /// The number of bytes read in one stage.
  static let batchByteCount = 1 << 16

  struct Counts: Codable, Equatable, Sendable {
    var lines = 0
    var words = 0
  }

  case read(ImportSource)
  case count(ImportSource, offset: Int, Counts)
  case done(Counts)

  func next() async throws -> TextImport {
    switch self {
    case .read(let source):
      return .count(source, offset: 0, Counts())
    case .count(let source, let offset, var counts):
      guard offset < source.byteCount else { return .done(counts) }
      let text = try source.lines(from: offset, upTo: min(source.byteCount, offset + Self.batchByteCount))
      counts.lines += text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast().count
      if text.last != UInt8(ascii: "\n") { counts.lines += 1 }  // the last line of all
      counts.words += text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: " ") }.count
      return .count(source, offset: offset + text.count, counts)
    case .done:
      return try completed()
    }
  }

  var result: Counts? {
    if case .done(let counts) = self { counts } else { nil }
  }
}

extension TextImport: CustomStringConvertible {
  var description: String {
    switch self {
    case .read: "read"
    case .count(let source, let offset, let counts):
      "count: \(counts.lines) lines in \(offset) of \(source.byteCount) bytes"
    case .done(let counts): "done: \(counts.lines) lines, \(counts.words) words"
    }
  }
}

/// A text to import, as it was when the import started.
struct ImportSource: Codable, Equatable, Sendable {
  /// The absolute path: `./a.txt` and `a.txt` are one text.
  let path: String
  let byteCount: Int
  /// The modification time, in seconds since 1970.
  let modified: Double

  /// Reads the state of a file.
  ///
  /// - Throws: `FileFailure` for a file that cannot be read.
  init(_ path: String) throws {
    let facts = FileFacts(try FileLocation(path).open(O_RDONLY, followsLinks: true).status())
    self.path = URL(fileURLWithPath: path).standardizedFileURL.path
    byteCount = facts.size
    modified = facts.lastChange
  }

  /// The directory of the checkpoint, until the import has completed.
  var workPath: String { path + ".import" }

  /// Reads from an offset to the end of the line that contains the given end.
  ///
  /// - Throws: `FileFailure`; `CommandError` when the text has changed since the import started.
  func lines(from offset: Int, upTo end: Int) throws -> [UInt8] {
    guard try ImportSource(path) == self else {
      throw CommandError("'\(path)' has changed; start the import over with the same command")
    }
    let file = try FileLocation(path).open(O_RDONLY, followsLinks: true)
    try file.seek(to: offset)
    var bytes = try file.read(end - offset)
    // The line that crosses the end is included, and nothing after it.
    while bytes.last != UInt8(ascii: "\n"), case let more = try file.read(1 << 12), !more.isEmpty {
      if let end = more.firstIndex(of: UInt8(ascii: "\n")) { return bytes + more[...end] }
      bytes += more
    }
    return bytes
  }
}

/// A text of 60,000 lines of nine words.
enum SampleText {
  static let lineCount = 60_000
  static let bytes = Array(String(repeating: "the quick brown fox jumps over the lazy dog\n", count: lineCount).utf8)
}
