// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFiles

/// One request of a download, and the interpretation of its response.
enum DownloadRequest: Equatable {
  /// The whole file.
  case whole
  /// The bytes from a position on, if the file is unchanged.
  case rest(start: Int64, DownloadTag)

  /// The meaning of a response for the file.
  enum Verdict: Equatable {
    /// The body is the file from a position on, up to an end if that is known; the length of the whole file, if it is
    /// known.
    case write(from: Int64, to: Int64? = nil, total: Int64?)
    /// The file is complete, with this number of bytes.
    case complete(Int64)
    /// The existing bytes belong to another file, or the response is unusable: request the whole file.
    case restart
    /// The response is not the file, and is returned unchanged.
    case refuse
  }

  /// The header fields of the request.
  var headers: HTTPHeaders {
    switch self {
    case .whole: [:]
    case .rest(let start, let tag): ["Range": "bytes=\(start)-", "If-Range": tag.validator]
    }
  }

  func verdict(_ head: HTTPResponseHead) throws(HTTPError) -> Verdict {
    switch (head.status, self) {
    case (206, .whole): throw .wrongRange
    case (206, .rest(let start, let tag)):
      // Its bytes count those of the file as it is stored, not those of a compressed one.
      guard let range = ContentRange(head.headers["Content-Range"]), range.start == start,
        (tag.total ?? .max) > range.end, head.headers["Content-Encoding"] == nil,
        !tag.isContradicted(by: head, total: range.total)
      else { return .restart }
      // Without a total, the range is the rest: that was requested.
      return .write(from: start, to: range.end + 1, total: range.total ?? tag.total ?? range.end + 1)
    case (200..<300, _): return .write(from: 0, total: head.length)
    case (416, .rest(let start, let tag)):
      let range = head.headers["Content-Range"]?.wholeMatch(of: /bytes \*\/([0-9]+)/.ignoresCase())
      let total = range.flatMap { Int64($0.1) }
      let isWhole = (total ?? tag.total) == start && !tag.isContradicted(by: head, total: total)
      return isWhole ? .complete(start) : .restart
    default: return .refuse
    }
  }
}

/// The header `Content-Range`, which describes the range that a response contains.
struct ContentRange: Equatable {
  let start: Int64
  let end: Int64
  /// The length of the whole, where it is known.
  let total: Int64?

  init?(_ text: String?) {
    guard let parts = text?.wholeMatch(of: /bytes ([0-9]+)-([0-9]+)\/([0-9]+|\*)/.ignoresCase()),
      let start = Int64(parts.1), let end = Int64(parts.2), start <= end, end < .max
    else { return nil }
    (self.start, self.end, total) = (start, end, Int64(parts.3))
    guard parts.3 == "*" || (total ?? 0) > end else { return nil }
  }
}

/// What is known about a partly downloaded file, so that a later attempt can check whether the rest belongs to it.
struct DownloadTag: Equatable {
  /// A digest of the URL, which may contain secrets and is not stored.
  private let source: String
  /// An entity tag, or the time of the last change.
  let validator: String
  /// The length of the whole file, if the server sent it.
  let total: Int64?

  /// Nil when the response contains nothing to check the rest with.
  init?(_ head: HTTPResponseHead, from url: URL, total: Int64? = nil) {
    guard head.headers["Content-Encoding"] == nil else { return nil }
    if let tag = head.headers["ETag"], tag.hasPrefix("\""), !tag.hasControlCharacter {
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

  private static func source(_ url: URL) -> String { SHA256.hex(Array(url.absoluteString.utf8)) }

  /// The text that is stored beside the partial file: the source, the validator and the length, one line each.
  var text: String { "\(source)\n\(validator)\n\(total.map(String.init) ?? "-")\n" }

  /// Reads a stored tag; nil for one of another URL, or one that was not written completely.
  init?(text: String, for url: URL) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count == 4, lines[3].isEmpty, lines[0] == Self.source(url), !lines[1].isEmpty else { return nil }
    source = String(lines[0])
    validator = String(lines[1])
    total = Int64(lines[2])
    guard total != nil || lines[2] == "-" else { return nil }
  }
}

/// The file to which a download is written until it is complete, locked while it is open.
struct PartialFile: ~Copyable {
  let content: OpenFile
  private let target: FileLocation
  private var tagLocation: FileLocation { FileLocation(content.location.path + ".tag") }

  /// Opens the file of an earlier attempt, or an empty one.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when another download writes it, in this process or another.
  init(_ file: String) throws(HTTPError) {
    target = FileLocation(file)
    do {
      // Otherwise the error would only occur at the end of the download.
      if target.isDirectory { throw target.failure("open", EISDIR) }
      content = try Self.openLocked(FileLocation(file + ".part"))
    } catch {
      throw HTTPError(error)
    }
  }

  /// Closing would not be enough while a child process that is just starting shares the descriptor.
  deinit { content.unlock() }

  private static func openLocked(_ location: FileLocation) throws -> OpenFile {
    while true {
      let content = try location.open(O_RDWR | O_CREAT)
      guard try content.lock() else { throw HTTPError.refused(reason: "another download writes to this file") }
      // The previous owner may have finished between the two calls; then the lock is on the finished file.
      let (locked, named) = (try content.status(), try location.status())
      if locked.st_ino == named?.st_ino, locked.st_dev == named?.st_dev { return content }
    }
  }

  var size: Int64 { (try? content.status()).map { Int64($0.st_size) } ?? 0 }

  /// Discards the existing bytes, and writes the tag for the following ones.
  ///
  /// A process that is killed meanwhile leaves no tag, or an incomplete one; then the whole file is downloaded again.
  func restart(_ tag: DownloadTag?) throws(FileFailure) {
    _ = try? tagLocation.unlink()
    try content.truncate(to: 0)
    if let tag { try tagLocation.open(O_WRONLY | O_CREAT | O_EXCL).write(tag.text.utf8, at: 0) }
  }

  /// Removes the file, whose bytes are useless.
  func remove() {
    _ = try? tagLocation.unlink()
    _ = try? content.location.unlink()
  }

  /// The tag of the file of an earlier attempt.
  func tag(for url: URL) -> DownloadTag? {
    guard let data = try? Data(contentsOf: URL(filePath: tagLocation.path)) else { return nil }
    return DownloadTag(text: String(decoding: data, as: UTF8.self), for: url)
  }

  /// Renames the complete file to its destination.
  func finish() throws(FileFailure) {
    try content.location.rename(to: target)
    _ = try? tagLocation.unlink()
  }
}
