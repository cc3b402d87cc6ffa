// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A method of ``HTTP`` or of a client, such as `HTTP.get` and `client.post`, that is called as a function.
///
/// The request fails immediately if its task is cancelled or a deadline passes. At most ten redirects are followed. A
/// user name and password in the URL are sent as Basic authentication, unless there are other credentials.
public struct HTTPMethod: Sendable {
  let name: String
  let client: HTTPClient

  /// Sends a request, and suspends until the whole response has arrived.
  ///
  /// At most one of `json`, `form` and `body` may be passed.
  ///
  /// - Parameters:
  ///   - address: The destination, as a `URL` or a `String`. A client reads a `String` as a path below its base URL.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - json: A value to send as JSON.
  ///   - form: Names and values to send as a form.
  ///   - body: Bytes to send.
  ///   - credentials: The credentials for this request; nil for the client's.
  ///   - deadlines: How long the request may take; nil for the client's, or for ``HTTPDeadlines/standard``.
  ///   - redirects: Which redirects are followed; nil for the client's, or for all.
  ///   - bodyLimit: The maximum number of bytes of the response's body; nil for the session's limit.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled; `EncodingError` of `json`. Never for a
  ///   status.
  public nonisolated(nonsending) func callAsFunction(
    _ address: some HTTPAddress = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil,
    redirects: HTTPRedirects? = nil,
    bodyLimit: Int? = nil
  ) async throws -> HTTPResponse {
    guard [json != nil, form != nil, body != nil].count(where: { $0 }) <= 1 else {
      throw HTTPError.refused(reason: "it has more than one of json, form and body")
    }
    var request = HTTPRequest(
      method: name,
      url: try client.url(of: address),
      query: query,
      headers: headers,
      body: try json.map { try .json($0, encoder: client.coders.encoder) } ?? form.map { .form($0) }
        ?? body.map { .bytes($0) },
      credentials: credentials
    )
    (request.deadlines, request.redirects, request.bodyLimit) = (deadlines, redirects, bodyLimit)
    return try await client.send(request)
  }

  /// Sends a request with a body that may be large, and suspends until the whole response has arrived.
  ///
  /// - Parameters:
  ///   - address: The destination, as a `URL` or a `String`. A client reads a `String` as a path below its base URL.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - body: The body: bytes, a value in JSON, a file, a sequence or a form.
  ///   - credentials: The credentials for this request; nil for the client's.
  ///   - deadlines: How long the request may take; nil for the client's, or for ``HTTPDeadlines/standard``. The
  ///     `headers` deadline counts from the last byte that was sent.
  ///   - redirects: Which redirects are followed; nil for the client's, or for all.
  ///   - bodyLimit: The maximum number of bytes of the response's body; nil for the session's limit.
  ///   - progress: Called as the body is sent, one call at a time, on a separate queue; the request returns after the
  ///     last call. A slow closure misses intermediate progress. When the body is sent again, it starts over.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public nonisolated(nonsending) func callAsFunction(
    _ address: some HTTPAddress = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    body: HTTPBody,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil,
    redirects: HTTPRedirects? = nil,
    bodyLimit: Int? = nil,
    progress: (@Sendable (HTTPUploadProgress) -> Void)? = nil
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(
      method: name,
      url: try client.url(of: address),
      query: query,
      headers: headers,
      body: body,
      credentials: credentials
    )
    (request.deadlines, request.redirects, request.bodyLimit) = (deadlines, redirects, bodyLimit)
    request.onSend(progress)
    return try await client.send(request)
  }
}

/// A request whose response is received as it is read: `HTTP.stream` and `client.stream`, called as a function.
public struct HTTPStreaming: Sendable {
  let client: HTTPClient

  /// Sends a request, suspends until the head of the response has arrived, and receives the body as it is read.
  ///
  /// ```swift
  /// let response = try await HTTP.stream(url)
  /// for try await chunk in response.body { try write(chunk) }
  /// ```
  ///
  /// The body of the response is neither limited nor kept in memory. Leaving the loop, cancelling its task, or releasing
  /// the response without reading it ends the request.
  ///
  /// - Parameters:
  ///   - address: The destination, as a `URL` or a `String`. A client reads a `String` as a path below its base URL.
  ///   - method: The method; nil for a `GET`, or for a `POST` with a body.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - body: The body, which is sent as a whole before the head of the response is returned.
  ///   - credentials: The credentials for this request; nil for the client's.
  ///   - deadlines: How long the request may take; nil for the client's, or for ``HTTPDeadlines/standard``. The `idle`
  ///     deadline counts while the loop waits for a chunk.
  ///   - redirects: Which redirects are followed; nil for the client's, or for all.
  ///   - progress: Called as the body is sent, one call at a time, on a separate queue, and not after the return.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public nonisolated(nonsending) func callAsFunction(
    _ address: some HTTPAddress = "",
    method: String? = nil,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    body: HTTPBody? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil,
    redirects: HTTPRedirects? = nil,
    progress: (@Sendable (HTTPUploadProgress) -> Void)? = nil
  ) async throws -> HTTPResponseStream {
    var request = HTTPRequest(
      method: method ?? (body == nil ? "GET" : "POST"),
      url: try client.url(of: address),
      query: query,
      headers: headers,
      body: body,
      credentials: credentials
    )
    (request.deadlines, request.redirects) = (deadlines, redirects)
    request.onSend(progress)
    return try await self(request)
  }

  /// Sends a request, suspends until the head of the response has arrived, and receives the body as it is read.
  ///
  /// - Parameter request: The request.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the task is cancelled. Never for a status.
  public nonisolated(nonsending) func callAsFunction(_ request: HTTPRequest) async throws -> HTTPResponseStream {
    try await client.perform(client.prepared(request)) { response in response }
  }
}

extension HTTPRequest {
  /// Calls a closure as the body is sent, if there is one.
  ///
  /// It is called one call at a time, on a separate queue, and not after the head of the response was returned. A slow
  /// closure misses intermediate progress. When the body is sent again, the progress starts over.
  public mutating func onSend(_ progress: (@Sendable (HTTPUploadProgress) -> Void)?) {
    upload = progress.map { UploadReporter(total: body?.content.length, watcher: $0) }
  }
}
