// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

extension HTTPSession {
  /// Sends a request and writes its answer to a file; goes on where an earlier attempt broke off.
  nonisolated(nonsending) func download(
    _ request: OutgoingRequest,
    to file: URL,
    deadlines: HTTPDeadlines,
    progress: Download.Watcher?
  ) async throws -> HTTPResponse {
    guard request.headers["Range"] == nil, request.headers["If-Range"] == nil else {
      throw HTTPError.refused(reason: "a download writes its own header Range")
    }
    try Task.checkCancellation()
    let download = try Download(of: request.url, to: file, watcher: progress)
    defer { download.close() }
    var plain = request
    // A part of something compressed is of no use.
    if plain.headers["Accept-Encoding"] == nil { plain.headers["Accept-Encoding"] = "identity" }
    var asking = plain
    asking.headers = plain.headers.merging(download.headers())
    var (head, body, url) = try await exchange(asking, deadlines: deadlines, sink: download)
    if head.status == 416, asking.headers["Range"] != nil {
      try download.restart()
      _ = download.headers()
      (head, body, url) = try await exchange(plain, deadlines: deadlines, sink: download)
    }
    if (200..<300).contains(head.status) { try download.finish() }
    return HTTPResponse(status: head.status, headers: head.headers, body: body, url: url)
  }
}
