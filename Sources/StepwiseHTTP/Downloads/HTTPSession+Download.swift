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
    let rest = try await rest(of: plain, deadlines: deadlines, download: download)
    let (head, body, url) =
      if let rest { rest } else { try await exchange(plain, deadlines: deadlines, sink: download) }
    if (200..<300).contains(head.status) { try download.finish() }
    return HTTPResponse(status: head.status, headers: head.headers, body: body, url: url)
  }

  /// Asks for what is missing of a file that is there in part; nil when all of it is to be asked for.
  private nonisolated(nonsending) func rest(
    of request: OutgoingRequest,
    deadlines: HTTPDeadlines,
    download: Download
  ) async throws -> Exchange.Answer? {
    let range = download.headers()
    guard !range.fields.isEmpty else { return nil }
    var request = request
    request.headers = request.headers.merging(range)
    do {
      let answer = try await exchange(request, deadlines: deadlines, sink: download)
      if answer.head.status != 416 { return answer }
    } catch is Download.Changed {}
    try download.restart()
    return nil
  }
}
