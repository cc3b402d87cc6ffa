// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A request whose response is written to a file: `HTTP.download` and `client.download`, called as a function.
///
/// Use it for files that are too large for memory, or that your user should not load twice. The body is written to the
/// file's name with `.part` appended, as it arrives, and is renamed when it is complete. When the download fails, is
/// cancelled, or the process is killed, that file stays, with a small one that ends in `.part.tag`. The next call
/// requests only the rest, with `If-Range`. If the file on the server has changed since, by its tag, its time or its
/// length, or the server does not support ranges, the whole file is downloaded again. While one download writes the
/// file, a second one is refused. A symbolic link at the destination is replaced; a symbolic link at the `.part` is an
/// error.
///
/// ```swift
/// let response = try await HTTP.download(address, to: file) { progress in
///   show(progress.fractionCompleted ?? 0)
/// }
/// ```
///
/// Only a status of 200 to 299 creates the file. With any other status the response has the body, and no file has
/// changed.
public struct HTTPDownloading: Sendable {
  let client: HTTPClient

  /// Downloads to a file, in constant memory, and resumes where an earlier attempt ended.
  ///
  /// - Parameters:
  ///   - address: The source, as a `URL` or a `String`. A client reads a `String` as a path below its base URL.
  ///   - file: The file to create or to replace.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - deadlines: The time limits for each request; nil for the client's.
  ///   - sha256: The required SHA-256 of the file, in hexadecimal. It is computed when all bytes are there. A
  ///     different one throws ``HTTPError/checksumMismatch(expected:found:)`` and leaves what is at `file` unchanged.
  ///   - progress: Called after each written piece, one call at a time, on a queue of the download. The download waits
  ///     until it returns. A step's progress is reported without it.
  /// - Returns: The response, whatever its status; with an empty body when it was written to the file. The status is
  ///   206 when an earlier attempt was resumed.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func callAsFunction(
    _ address: some HTTPAddress,
    to file: URL,
    headers: HTTPHeaders = [:],
    deadlines: HTTPDeadlines? = nil,
    sha256: String? = nil,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(url: try client.url(of: address), headers: headers)
    request.deadlines = deadlines
    return try await self(request, to: file, sha256: sha256, progress: progress)
  }

  /// Downloads the response to a request to a file, as ``callAsFunction(_:to:headers:deadlines:sha256:progress:)`` does.
  ///
  /// - Parameters:
  ///   - request: The request, a `GET` without the header `Range`.
  ///   - file: The file to create or to replace.
  ///   - sha256: The required SHA-256 of the file, in hexadecimal.
  ///   - progress: Called after each written piece. The download waits until it returns.
  /// - Returns: The response, whatever its status; with an empty body when it was written to the file.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public func callAsFunction(
    _ request: HTTPRequest,
    to file: URL,
    sha256: String? = nil,
    progress: (@Sendable (HTTPDownloadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    var request = try client.prepared(request)
    guard request.method == "GET", request.headers["Range"] == nil, request.headers["If-Range"] == nil else {
      throw HTTPError.refused(reason: "a download is a GET that writes its own header Range")
    }
    guard sha256.map({ $0.count == 64 && $0.allSatisfy(\.isHexDigit) }) ?? true else {
      throw HTTPError.refused(reason: "a SHA-256 is 64 hexadecimal digits")
    }
    try Task.checkCancellation()
    let target = try DownloadFile(of: request.url, to: file, sha256: sha256?.lowercased(), watcher: progress)
    defer { target.close() }
    // A range of a compressed body is useless.
    if request.headers["Accept-Encoding"] == nil { request.headers["Accept-Encoding"] = "identity" }
    request.onFailure = { error in target.interrupt(error) }
    let limit = request.bodyLimit ?? client.session.bodyLimit
    while true {
      var wish = DownloadRequest.whole
      let response = try await client.perform(request) { request in
        wish = target.request()
        var next = request
        next.headers = request.headers.merging(wish.headers)
        return next
      } _: { response in
        try await target.receive(response, to: wish, upTo: limit)
      }
      // This terminates: every response to a request for the whole file is a result.
      if let response { return response }
    }
  }
}
