// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What one request of a download asks for, and what its response means.
enum DownloadRequest: Equatable {
  /// All of the file.
  case whole
  /// The bytes from a position on, if the file is still the same.
  case part(start: Int64, end: Int64?, DownloadTag)

  /// What a response means for the file.
  enum Verdict: Equatable {
    /// The body is the file from its beginning.
    case begin(total: Int64?)
    /// The body is what was requested, up to a position; the length of the whole file, if the response says it.
    case append(end: Int64, total: Int64?)
    /// There is nothing to add: the file is there.
    case complete
    /// What is there belongs to another file, or the response is of no use: all of it has to be requested.
    case restart
    /// The response is not the file, and is returned as it is.
    case refuse
    case fail(HTTPError)
  }

  /// The header fields that request it.
  var headers: HTTPHeaders {
    switch self {
    case .whole: [:]
    case .part(let start, let end, let tag):
      ["Range": "bytes=\(start)-\(end.map { "\($0 - 1)" } ?? "")", "If-Range": tag.validator]
    }
  }

  func verdict(_ head: HTTPResponseHead) -> Verdict {
    switch (head.status, self) {
    case (206, .whole): return .fail(TransferFailure.wrongRange)
    case (206, .part(let start, let end, let tag)):
      guard let range = ContentRange(head.headers["Content-Range"]), range.start == start, range.end < end ?? .max
      else {
        return .restart
      }
      return tag.isContradicted(by: head, total: range.total)
        ? .restart : .append(end: range.end + 1, total: range.total)
    case (200..<300, _): return .begin(total: head.length)
    case (416, .part(let start, _, let tag)):
      let total = ContentRange.total(ofUnsatisfied: head.headers["Content-Range"])
      let isWhole = (total ?? tag.total) == start && !tag.isContradicted(by: head, total: total)
      return isWhole ? .complete : .restart
    default: return .refuse
    }
  }
}
