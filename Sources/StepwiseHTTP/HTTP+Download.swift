// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

extension HTTP {
  /// Downloads to a file, in constant memory, and resumes where an earlier attempt ended.
  ///
  /// The body is written to the file's name with `.part` appended, as it arrives, and is renamed when it is complete.
  /// When the download fails, is cancelled, or the process is killed, that file stays, with a small one that ends in
  /// `.part.tag`. The next call requests only the rest, with `If-Range`. If the file on the server has changed since,
  /// by its tag, its time or its length, or the server does not support ranges, the whole file is downloaded again.
  /// While one download writes the file, a second one is refused. A symbolic link at the destination is replaced; a
  /// symbolic link at the `.part` is an error.
  ///
  /// Only a status of 200 to 299 creates the file. With any other status the response has the body, and no file has
  /// changed.
  ///
  /// - Parameters:
  ///   - url: The source, as a `URL` or a `String`.
  ///   - file: The file to create or to replace.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields.
  ///   - credentials: The credentials for this request.
  ///   - deadlines: The time limits for each request.
  ///   - segments: The number of parts that are downloaded concurrently, each over its own connection. With a server
  ///     that does not support ranges, does not send the length of the file, or refuses further connections, there are
  ///     fewer. An interrupted download resumes each part.
  ///   - sha256: The required SHA-256 of the file, in hexadecimal. It is computed while the file is written. A
  ///     different one throws ``HTTPError/checksumMismatch(expected:found:)`` and leaves what is at `file` unchanged.
  ///   - progress: Called after each written piece, one call at a time, on a queue of the download. The download waits
  ///     until it returns. A step's progress is reported without it.
  /// - Returns: The response, whatever its status; with an empty body when it was written to the file. The status is
  ///   206 when an earlier attempt was resumed.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public nonisolated(nonsending) static func download(
    _ url: some HTTPAddress,
    to file: URL,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard,
    segments: Int = 1,
    sha256: String? = nil,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    let request = try OutgoingRequest("GET", url.httpURL(), query, headers, nil, credentials)
    let settings = DownloadSettings(segments: segments, sha256: sha256, progress: progress)
    return try await HTTPSession.shared.download(request, to: file, deadlines: deadlines, settings: settings)
  }
}
