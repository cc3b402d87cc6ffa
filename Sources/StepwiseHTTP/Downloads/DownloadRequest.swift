// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One request of a download, and the interpretation of its response.
enum DownloadRequest: Equatable {
  /// The whole file.
  case whole
  /// The bytes from a position on, if the file is unchanged.
  case part(start: Int64, end: Int64?, DownloadTag)

  /// The meaning of a response for the file.
  enum Verdict: Equatable {
    /// The body is the file from its start.
    case begin(total: Int64?)
    /// The body is the requested range, up to a position; the total length, if the response contains it.
    case append(end: Int64, total: Int64?)
    /// The file is complete.
    case complete
    /// The existing bytes belong to another file, or the response is unusable: request the whole file.
    case restart
    /// The response is not the file, and is returned unchanged.
    case refuse
    case fail(HTTPError)
  }

  /// The header fields of the request.
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
