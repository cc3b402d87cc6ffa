// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

extension HTTP {
  /// Sends a request with a body that may be large, and receives the body of the response as it is read.
  ///
  /// It suspends until the whole body was sent and the head of the response has arrived. The response is that of
  /// ``stream(_:method:query:headers:json:encoder:form:body:credentials:deadlines:redirects:)``.
  ///
  /// - Parameters:
  ///   - url: The destination, as a `URL` or a `String`.
  ///   - method: The method, such as `POST`.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields.
  ///   - body: The body: bytes, a file, a sequence or a form.
  ///   - credentials: The credentials for this request.
  ///   - deadlines: How long the request may take. The `headers` deadline counts from the last byte that was sent.
  ///   - redirects: Which redirects are followed.
  ///   - progress: Called as the body is sent, one call at a time, on a queue of its own, and not after the return. A
  ///     slow closure misses intermediate progress. When the body is sent again, it starts over.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled. Never for a status.
  public nonisolated(nonsending) static func stream(
    _ url: some HTTPAddress,
    method: String = "POST",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    body: HTTPBody,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard,
    redirects: HTTPRedirects = .follow,
    progress: (@Sendable (HTTPUploadProgress) -> Void)? = nil
  ) async throws -> HTTPResponseStream {
    var request = try OutgoingRequest(
      method,
      url.httpURL(),
      query,
      headers,
      RequestContent(body),
      credentials,
      redirects: redirects
    )
    request.upload = progress.map { UploadReporter(total: request.body.length, watcher: $0) }
    defer { request.upload?.close() }
    return try await HTTPSession.shared.open(request, deadlines: deadlines)
  }
}

extension HTTPClient {
  /// Sends a request with a body that may be large, and receives the body of the response as it is read.
  ///
  /// ``HTTP/stream(_:method:query:headers:body:credentials:deadlines:redirects:progress:)`` has the details.
  ///
  /// - Parameters:
  ///   - path: The destination, below the base URL.
  ///   - method: The method, such as `POST`.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - body: The body: bytes, a file, a sequence or a form.
  ///   - credentials: The credentials for this request; nil for the client's.
  ///   - deadlines: How long the request may take; nil for the client's ``deadlines``.
  ///   - redirects: Which redirects are followed; nil for the client's ``redirects``.
  ///   - progress: Called as the body is sent, one call at a time, on a queue of its own, and not after the return.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled. Never for a status.
  public nonisolated(nonsending) func stream(
    _ path: String = "",
    method: String = "POST",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    body: HTTPBody,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil,
    redirects: HTTPRedirects? = nil,
    progress: (@Sendable (HTTPUploadProgress) -> Void)? = nil
  ) async throws -> HTTPResponseStream {
    let content = RequestContent(body)
    var request = try request(method, path, query, headers, content, credentials, redirects: redirects)
    request.upload = progress.map { UploadReporter(total: request.body.length, watcher: $0) }
    defer { request.upload?.close() }
    var response = try await open(request, deadlines: deadlines ?? self.deadlines)
    response.decoder = decoder
    return response
  }
}
