// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The settings of a download besides its request.
struct DownloadSettings: Sendable {
  var segments = 1
  var sha256: String?
  var progress: DownloadFile.Watcher?
}

extension HTTPSession {
  /// Sends a request and writes its response to a file; resumes where an earlier attempt ended.
  nonisolated(nonsending) func download(
    _ request: OutgoingRequest,
    to file: URL,
    deadlines: HTTPDeadlines,
    settings: DownloadSettings
  ) async throws -> HTTPResponse {
    guard request.headers["Range"] == nil, request.headers["If-Range"] == nil else {
      throw HTTPError.refused(reason: "a download writes its own header Range")
    }
    let sha256 = settings.sha256?.lowercased()
    guard sha256 == nil || sha256?.count == 64 && sha256?.allSatisfy(\.isHexDigit) == true else {
      throw HTTPError.refused(reason: "a SHA-256 is 64 hexadecimal digits")
    }
    try Task.checkCancellation()
    let target = try DownloadFile(of: request.url, to: file, hasChecksum: sha256 != nil, watcher: settings.progress)
    defer { target.close() }
    var request = request
    // A range of a compressed body is useless.
    if request.headers["Accept-Encoding"] == nil { request.headers["Accept-Encoding"] = "identity" }
    let segments = max(1, settings.segments)
    let downloader = Downloader(
      session: self,
      request: request,
      deadlines: deadlines,
      file: target,
      segments: segments
    )
    let response = try await downloader.run()
    if response.isSuccess { try await target.finish(sha256: sha256) }
    return response
  }
}
