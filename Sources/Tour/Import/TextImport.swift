// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Creates the index of a text, in stages that may end with the process and resume in another one.
enum TextImport: Progression, Codable, Equatable {
  /// The number of bytes indexed in one stage.
  static let batchByteCount = 1 << 17

  /// The position of the indexing.
  struct Position: Codable, Equatable, Sendable {
    var batch = 0
    var offset = 0
    var line = 1
    let batchCount: Int
  }

  struct Summary: Codable, Equatable, Sendable {
    let source: ImportSource
    let lineCount: Int
    let wordCount: Int
  }

  case read(ImportSource)
  case split(ImportSource)
  case index(ImportSource, Position)
  case write(ImportSource, Position)
  case done(Summary)

  func next() async throws -> TextImport {
    switch self {
    case .read(let source):
      // An unreadable text is detected before anything is written.
      _ = try source.lines(from: 0, upTo: 1)
      return .split(source)
    case .split(let source):
      return .index(source, Position(batchCount: max(1, (source.byteCount - 1) / Self.batchByteCount + 1)))
    case .index(let source, let position):
      let next = try Self.index(source, at: position)
      return next.batch < next.batchCount ? .index(source, next) : .write(source, next)
    case .write(let source, let position):
      return .done(try Self.write(source, position))
    case .done:
      return try completed()
    }
  }

  var result: Summary? {
    if case .done(let summary) = self { summary } else { nil }
  }

  /// Writes the index of one batch.
  ///
  /// Repeating it writes the same bytes.
  private static func index(_ source: ImportSource, at position: Position) throws -> Position {
    let end = min(source.byteCount, (position.batch + 1) * batchByteCount)
    let text = position.offset < end ? try source.lines(from: position.offset, upTo: end) : []
    var index = TextIndex()
    let lineCount = index.add(text, from: position.line)
    try WholeFile.write(index.bytes, to: source.partPath(position.batch))
    var next = position
    next.batch += 1
    next.offset += text.count
    next.line += lineCount
    if let last = text.last, last != UInt8(ascii: "\n") { next.line += 1 }  // the last line of all
    return next
  }

  /// Combines the parts.
  ///
  /// The parts stay, because this stage may have to be repeated.
  private static func write(_ source: ImportSource, _ position: Position) throws -> Summary {
    var index = TextIndex()
    for batch in 0..<position.batchCount { index.add(try WholeFile.read(source.partPath(batch))) }
    try WholeFile.write(index.bytes, to: source.indexPath, by: source.partialIndexPath)
    return Summary(source: source, lineCount: position.line - 1, wordCount: index.wordCount)
  }
}

extension TextImport: CustomStringConvertible {
  var description: String {
    switch self {
    case .read: "read"
    case .split: "split"
    case .index(_, let position): "index batch \(position.batch + 1) of \(position.batchCount)"
    case .write: "write"
    case .done(let summary): "done: \(summary.lineCount) lines, \(summary.wordCount) words"
    }
  }
}
