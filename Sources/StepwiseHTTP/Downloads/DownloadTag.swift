// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// What tells, after a download broke off, whether the rest still belongs to what is there.
struct DownloadTag: Equatable {
  /// Stands for the address, which may hold secrets and is not written down.
  private let source: String
  /// An entity tag, or the time of the last change.
  let validator: String

  /// Nil when the answer says nothing that the rest could be checked with.
  init?(_ head: ResponseHead, from url: URL) {
    guard head.headers["Content-Encoding"] == nil else { return nil }
    if let tag = head.headers["ETag"], tag.hasPrefix("\"") {
      validator = tag
    } else if let changed = head.headers["Last-Modified"].flatMap(HTTPDate.parse),
      // Within the second of its last change a file may change again.
      let now = head.headers["Date"].flatMap(HTTPDate.parse), changed < now
    {
      validator = head.headers["Last-Modified"] ?? ""
    } else {
      return nil
    }
    source = Self.source(url)
  }

  /// Reads a tag that was written; nil for one that is about something else, or was not written to its end.
  init?(text: String, for url: URL) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 3, lines[2].isEmpty, lines[0] == Self.source(url), !lines[1].isEmpty else { return nil }
    source = String(lines[0])
    validator = String(lines[1])
  }

  /// Whether a part that was sent is one of something else; a server may not know `If-Range`.
  func isContradicted(by head: ResponseHead) -> Bool {
    let found = head.headers[validator.hasPrefix("\"") ? "ETag" : "Last-Modified"]
    return found != nil && found != validator
  }

  var text: String { "\(source)\n\(validator)\n" }

  private static func source(_ url: URL) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in url.absoluteString.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return String(hash, radix: 16)
  }
}
