// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
import StepwiseFiles

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
    try Files.write(index.bytes, to: source.partPath(position.batch))
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
    for batch in 0..<position.batchCount { index.add(try Files.read(source.partPath(batch))) }
    try Files.write(index.bytes, to: source.indexPath, by: source.partialIndexPath)
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

/// The words of a text, each with the numbers of its lines.
///
/// The file has one line for each word, in order: `word 3 17 20`.
struct TextIndex {
  private var lines: [String: [Int]] = [:]

  var wordCount: Int { lines.count }

  /// Adds text whose first line has the given number.
  ///
  /// - Returns: The number of its lines.
  mutating func add(_ text: [UInt8], from firstLine: Int) -> Int {
    var line = firstLine
    var word: [UInt8] = []
    for byte in text + [UInt8(ascii: " ")] {
      if let letter = Self.letter(byte) {
        word.append(letter)
        continue
      }
      if !word.isEmpty {
        note(String(decoding: word, as: UTF8.self), line)
        word.removeAll(keepingCapacity: true)
      }
      if byte == UInt8(ascii: "\n") { line += 1 }
    }
    return line - firstLine
  }

  /// Adds an index of later lines, in the form of `bytes`.
  mutating func add(_ bytes: [UInt8]) {
    for entry in bytes.split(separator: UInt8(ascii: "\n")) {
      let fields = entry.split(separator: UInt8(ascii: " "))
      guard let word = fields.first else { continue }
      let numbers = fields.dropFirst().compactMap { field in Int(String(decoding: field, as: UTF8.self)) }
      lines[String(decoding: word, as: UTF8.self), default: []] += numbers
    }
  }

  var bytes: [UInt8] {
    lines.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      .flatMap { word, lines in Array("\(word) \(lines.map(String.init).joined(separator: " "))\n".utf8) }
  }

  private mutating func note(_ word: String, _ line: Int) {
    if lines[word]?.last != line { lines[word, default: []].append(line) }
  }

  /// Returns a byte of a word in lower case; nil between words.
  ///
  /// Bytes other than ASCII belong to words.
  private static func letter(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte + 32
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: byte
    default: nil
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

  /// The path of the index.
  var indexPath: String { path + ".index" }

  /// The directory of the checkpoint and the parts of the index, until the import has completed.
  var workPath: String { path + ".index.work" }

  /// The path of the incomplete index.
  var partialIndexPath: String { workPath + "/index.partial" }

  func partPath(_ batch: Int) -> String { "\(workPath)/part-\(batch)" }

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

/// A text of 60,000 lines, always the same.
enum SampleText {
  static let lineCount = 60_000

  private static let words = """
    a after again all always and any are as at back be before begin behind below better between book both bring build \
    but by call can card chain change child city clear close cold come count cross day deep door down draw each early \
    earth east end even every eye face fall far field file find fire first flow follow for friend from garden give \
    go gold good grain great green hand hard have head hear high hill hold home hour house in into island job join just \
    keep key kind know land large last late learn leave left letter life light like line little long look low make many
    """.split(separator: " ")

  static var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for line in 0..<lineCount {
      for column in 1...9 {
        bytes += Array(words[(line * 9 + column) * 2_654_435_761 / 65_536 % words.count].utf8)
        bytes.append(UInt8(ascii: column < 9 ? " " : "\n"))
      }
    }
    return bytes
  }
}
