// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The bytes of a file that exist: contiguous pieces in order, each written from its start.
struct DownloadLayout: Equatable {
  /// Some consecutive bytes of the file.
  struct Piece: Equatable {
    let start: Int64
    /// The position after the last byte; nil when the piece is as long as the response.
    let end: Int64?
    var written: Int64 = 0

    /// The position of the next byte.
    var position: Int64 { start + written }

    var isComplete: Bool { position == end }
  }

  private(set) var pieces: [Piece]

  /// Creates the layout of a file whose first bytes exist.
  init(prefix: Int64 = 0, total: Int64?) { pieces = [Piece(start: 0, end: total, written: prefix)] }

  /// Creates the layout of a file whose remaining bytes are divided into segments of about the same size.
  init(prefix: Int64, total: Int64, segments: Int) {
    let count = Int64(segments)
    pieces = prefix > 0 ? [Piece(start: 0, end: prefix, written: prefix)] : []
    let length = total - prefix
    for index in 0..<count {
      let (start, end) = (prefix + length * index / count, prefix + length * (index + 1) / count)
      if start < end { pieces.append(Piece(start: start, end: end)) }
    }
  }

  /// Whether there are several pieces, whose state has to be stored because the length of the file does not determine
  /// it.
  var isSegmented: Bool { pieces.count > 1 }

  /// The number of existing bytes.
  var received: Int64 { pieces.reduce(0) { $0 + $1.written } }

  /// The number of existing bytes from the start of the file without a gap.
  var prefix: Int64 { pieces.first { !$0.isComplete }?.position ?? pieces.last?.end ?? 0 }

  var isComplete: Bool { pieces.allSatisfy(\.isComplete) }

  /// The index of the piece that the byte at a position belongs to.
  func piece(at position: Int64) -> Int? { pieces.firstIndex { $0.position == position && !$0.isComplete } }

  mutating func wrote(_ count: Int, to piece: Int) { pieces[piece].written += Int64(count) }
}

extension DownloadLayout {
  private static let fieldLength = 19
  /// Three numbers of the same length, two spaces and a line break.
  static let lineLength = 3 * fieldLength + 3

  /// One line for each piece, all of the same length, so that one can be overwritten.
  var lines: [String] { pieces.map(Self.line) }

  static func line(_ piece: Piece) -> String {
    [piece.start, piece.end ?? 0, piece.written].map(field).joined(separator: " ") + "\n"
  }

  private static func field(_ number: Int64) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, fieldLength - digits.count)) + digits
  }

  /// Reads the lines of a segmented file; nil unless they cover it.
  init?(lines: [Substring], total: Int64) {
    var (pieces, end) = ([Piece](), Int64(0))
    for line in lines {
      let numbers = line.split(separator: " ").map { Int64($0) }
      guard numbers.count == 3, let start = numbers[0], let next = numbers[1], let written = numbers[2],
        start == end, next > start, 0...(next - start) ~= written
      else { return nil }
      pieces.append(Piece(start: start, end: next, written: written))
      end = next
    }
    guard pieces.count > 1, end == total else { return nil }
    self.pieces = pieces
  }
}
