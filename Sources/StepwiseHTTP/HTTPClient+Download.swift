// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

extension HTTPClient {
  /// Downloads to a file.
  ///
  /// ``HTTP/download(_:to:query:headers:credentials:deadlines:segments:sha256:progress:)`` has the details.
  ///
  /// - Parameters:
  ///   - path: The source, below the base URL.
  ///   - file: The file to create or to replace.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - credentials: The credentials for this request; nil for the client's.
  ///   - deadlines: How long each request may take; nil for the client's ``deadlines``.
  ///   - segments: The number of parts that are downloaded at the same time.
  ///   - sha256: The SHA-256 that the file has to have, in hexadecimal.
  ///   - progress: Called after each piece that was written. The download waits until it returns.
  /// - Returns: The response, whatever its status; with an empty body when it was written to the file.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled. Never for a status.
  public nonisolated(nonsending) func download(
    _ path: String,
    to file: URL,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil,
    segments: Int = 1,
    sha256: String? = nil,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    let request = try request("GET", path, query, headers, nil, credentials, redirects: nil)
    let settings = DownloadSettings(segments: segments, sha256: sha256, progress: progress)
    return try await session.download(request, to: file, deadlines: deadlines ?? self.deadlines, settings: settings)
  }
}
