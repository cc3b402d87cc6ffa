// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
