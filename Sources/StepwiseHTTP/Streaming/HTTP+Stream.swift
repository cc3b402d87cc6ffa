// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

extension HTTP {
  /// Sends a request, suspends until the head of the response has arrived, and receives the body as it is read.
  ///
  /// ```swift
  /// let response = try await HTTP.stream(url)
  /// for try await chunk in response.body { try write(chunk) }
  /// ```
  ///
  /// The body is neither limited nor kept in memory. Leaving the loop, cancelling its Task, or releasing the response
  /// without reading it ends the request.
  ///
  /// - Parameters:
  ///   - url: The destination, as a `URL` or a `String`.
  ///   - method: The method, such as `GET`.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields.
  ///   - json: A value to send as JSON.
  ///   - encoder: The encoder of `json`; nil for a new `JSONEncoder`.
  ///   - form: Names and values to send as a form.
  ///   - body: Bytes to send.
  ///   - credentials: The credentials for this request.
  ///   - deadlines: How long the request may take. The `idle` deadline counts while the loop waits for a chunk.
  ///   - redirects: Which redirects are followed.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError`. Never for a status.
  public nonisolated(nonsending) static func stream(
    _ url: some HTTPAddress,
    method: String = "GET",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    encoder: JSONEncoder? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard,
    redirects: HTTPRedirects = .follow
  ) async throws -> HTTPResponseStream {
    let content = try RequestContent(json: json, encoder: encoder, form: form, body: body)
    let request = try OutgoingRequest(
      method,
      url.httpURL(),
      query,
      headers,
      content,
      credentials,
      redirects: redirects
    )
    return try await HTTPSession.shared.open(request, deadlines: deadlines)
  }
}

extension HTTPClient {
  /// Sends a request, suspends until the head of the response has arrived, and receives the body as it is read.
  ///
  /// ``HTTP/stream(_:method:query:headers:json:encoder:form:body:credentials:deadlines:redirects:)`` has the details.
  ///
  /// - Parameters:
  ///   - path: The destination, below the base URL.
  ///   - method: The method, such as `GET`.
  ///   - query: Items that are added to the query of the URL.
  ///   - headers: Header fields, in place of the client's of the same name.
  ///   - json: A value to send as JSON.
  ///   - form: Names and values to send as a form.
  ///   - body: Bytes to send.
  ///   - credentials: The credentials for this request; nil for the client's.
  ///   - deadlines: How long the request may take; nil for the client's ``deadlines``.
  ///   - redirects: Which redirects are followed; nil for the client's ``redirects``.
  /// - Returns: The response, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError`. Never for a status.
  public nonisolated(nonsending) func stream(
    _ path: String = "",
    method: String = "GET",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines? = nil,
    redirects: HTTPRedirects? = nil
  ) async throws -> HTTPResponseStream {
    let content = try RequestContent(json: json, encoder: encoder, form: form, body: body)
    let request = try request(method, path, query, headers, content, credentials, redirects: redirects)
    var response = try await open(request, deadlines: deadlines ?? self.deadlines)
    response.decoder = decoder
    return response
  }
}

extension HTTPSession {
  /// Sends a request and waits for the head of its response.
  nonisolated(nonsending) func open(
    _ request: OutgoingRequest,
    deadlines: HTTPDeadlines
  ) async throws -> HTTPResponseStream {
    let exchange = exchange(request, deadlines: deadlines)
    let head = try await exchange.head(reporting: request.upload)
    return HTTPResponseStream(
      status: head.status,
      headers: head.headers,
      url: exchange.url,
      body: HTTPBodyStream(exchange)
    )
  }
}
