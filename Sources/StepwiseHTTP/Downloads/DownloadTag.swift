// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// What is known about a partly downloaded file, so that a later attempt can check whether the rest belongs to it.
struct DownloadTag: Equatable {
  /// A digest of the URL, which may contain secrets and is not stored.
  private let source: String
  /// An entity tag, or the time of the last change.
  let validator: String
  /// The length of the whole file, if the server sent it.
  let total: Int64?
  /// The pieces of a segmented file; nil when the existing bytes are its start.
  var layout: DownloadLayout?

  /// Nil when the response contains nothing to check the rest with.
  init?(_ head: HTTPResponseHead, from url: URL, total: Int64? = nil) {
    guard head.headers["Content-Encoding"] == nil else { return nil }
    if let tag = head.headers["ETag"], tag.hasPrefix("\"") {
      validator = tag
    } else if let changed = head.headers["Last-Modified"].flatMap(HTTPDate.parse),
      // A file may change again within the second of its last modification.
      let now = head.headers["Date"].flatMap(HTTPDate.parse), changed < now
    {
      validator = head.headers["Last-Modified"] ?? ""
    } else {
      return nil
    }
    source = Self.source(url)
    self.total = total
  }

  /// Returns whether a response belongs to a different file than the existing bytes.
  ///
  /// A server may ignore `If-Range`, and may omit the validator. `total` is the length of the whole file, if the
  /// response contains it.
  func isContradicted(by head: HTTPResponseHead, total: Int64?) -> Bool {
    if let total, let expected = self.total, total != expected { return true }
    let found = head.headers[validator.hasPrefix("\"") ? "ETag" : "Last-Modified"]
    return found != nil && found != validator
  }

  private static func source(_ url: URL) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in url.absoluteString.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}

extension DownloadTag {
  /// The text that is stored beside the partial file.
  ///
  /// The source, the validator, and the length with the number of pieces have one line each; the pieces follow.
  var text: String { header + (layout?.lines.joined() ?? "") }

  private var header: String {
    "\(source)\n\(validator)\n\(total.map(String.init) ?? "-") \(layout?.pieces.count ?? 0)\n"
  }

  /// The offset of the line of a piece.
  func offset(ofPiece piece: Int) -> Int64 { Int64(header.utf8.count + piece * DownloadLayout.lineLength) }

  /// Reads a stored tag; nil for one of another URL, or one that was not written completely.
  init?(text: String, for url: URL) {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 4, lines.removeLast().isEmpty, lines[0] == Self.source(url), !lines[1].isEmpty else {
      return nil
    }
    source = String(lines[0])
    validator = String(lines[1])
    let numbers = lines[2].split(separator: " ")
    guard numbers.count == 2, let pieces = Int(numbers[1]), lines.count == 3 + pieces else { return nil }
    total = Int64(numbers[0])
    guard total != nil || numbers[0] == "-" else { return nil }
    guard pieces > 0 else { return }
    guard let total, let layout = DownloadLayout(lines: Array(lines[3...]), total: total) else { return nil }
    self.layout = layout
  }
}
