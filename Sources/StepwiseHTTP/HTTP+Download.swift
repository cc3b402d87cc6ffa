// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

extension HTTP {
  /// Downloads what is there to a file, in flat memory, and goes on where an earlier attempt broke off.
  ///
  /// The body is written to the file's name with `.part` added, as it comes, and is given the name itself when it is whole.
  /// When the download breaks off, is cancelled, or the process is killed, that file stays, with a small one ending in
  /// `.part.tag`. The next call asks for the rest only, with `If-Range`: if what is there has changed since, or the server
  /// knows no ranges, all of it is downloaded again. While one download writes the file, a second one is refused. A symbolic
  /// link in the file's place is replaced, one in the place of the `.part` is an error.
  ///
  /// Only a status of 200 to 299 makes the file. With any other the response has the body, and no file has changed.
  ///
  /// - Parameters:
  ///   - url: Where from, as a `URL` or a `String`.
  ///   - file: The file to make, or to replace.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  ///   - progress: Is told how far it is, on the session's thread, so it has to be quick: until it returns, no other request
  ///     of the session gets on. A step's progress is reported by itself.
  /// - Returns: The answer, whatever its status; with an empty body when it was written to the file.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled. Never for a status.
  public nonisolated(nonsending) static func download(
    _ url: some HTTPAddress,
    to file: URL,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    let request = try OutgoingRequest("GET", url.httpURL(), query, headers, nil, credentials)
    return try await HTTPSession.shared.download(request, to: file, deadlines: deadlines, progress: progress)
  }
}
