// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A method of ``HTTP``, such as ``HTTP/get``, that is called as a function.
public struct HTTPMethod: Sendable {
  let name: String

  init(_ name: String) { self.name = name }

  /// Sends a request, and suspends until the whole response has arrived.
  ///
  /// The request ends at once when its Task is cancelled, and when a deadline passes. At most ten redirects are
  /// followed. At most one of `json`, `form` and `body` may be passed. A user name and password in the URL are sent as
  /// Basic authentication, unless there are other credentials.
  ///
  /// - Parameters:
  ///   - url: The destination, as a `URL` or a `String`.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields.
  ///   - json: A value to send as JSON.
  ///   - encoder: The encoder of `json`; nil for a new `JSONEncoder`.
  ///   - form: Names and values to send as a form.
  ///   - body: Bytes to send.
  ///   - credentials: The credentials for this request.
  ///   - deadlines: How long the request may take.
  ///   - redirects: Which redirects are followed.
  ///   - bodyLimit: The maximum number of bytes of the response's body; nil for ``HTTPSession/defaultBodyLimit``.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError`. Never for a status.
  public nonisolated(nonsending) func callAsFunction(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    encoder: JSONEncoder? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard,
    redirects: HTTPRedirects = .follow,
    bodyLimit: Int? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, encoder: encoder, form: form, body: body)
    let request = try OutgoingRequest(
      name,
      url.httpURL(),
      query,
      headers,
      content,
      credentials,
      redirects: redirects,
      bodyLimit: bodyLimit
    )
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }

  /// Sends a request with a body that may be large, and suspends until the whole response has arrived.
  ///
  /// - Parameters:
  ///   - url: The destination, as a `URL` or a `String`.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields.
  ///   - body: The body: bytes, a file, a sequence or a form.
  ///   - credentials: The credentials for this request.
  ///   - deadlines: How long the request may take. The `headers` deadline counts from the last byte that was sent.
  ///   - redirects: Which redirects are followed.
  ///   - bodyLimit: The maximum number of bytes of the response's body; nil for ``HTTPSession/defaultBodyLimit``.
  ///   - progress: Called as the body is sent, one call at a time, on a queue of its own; the request returns after the
  ///     last call. A slow closure misses intermediate progress. After a redirect that takes the body along, it starts
  ///     over.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled. Never for a status.
  public nonisolated(nonsending) func callAsFunction(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    body: HTTPBody,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard,
    redirects: HTTPRedirects = .follow,
    bodyLimit: Int? = nil,
    progress: (@Sendable (HTTPUploadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    let content = RequestContent(body)
    var request = try OutgoingRequest(
      name,
      url.httpURL(),
      query,
      headers,
      content,
      credentials,
      redirects: redirects,
      bodyLimit: bodyLimit
    )
    request.upload = progress.map { UploadReporter(total: request.body.length, watcher: $0) }
    defer { request.upload?.close() }
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }
}
