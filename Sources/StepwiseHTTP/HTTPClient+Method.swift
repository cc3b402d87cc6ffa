// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

extension HTTPClient {
  /// A method of a client, such as ``HTTPClient/get``, that is called as a function.
  public struct Method: Sendable {
    let name: String
    let client: HTTPClient

    /// Sends a request, and suspends until the whole response has arrived; see ``HTTPMethod`` for how it ends.
    ///
    /// - Parameters:
    ///   - path: The destination, below the base URL.
    ///   - query: Items that are added to the query of the URL.
    ///   - headers: Header fields, in place of the client's of the same name.
    ///   - json: A value to send as JSON.
    ///   - form: Names and values to send as a form.
    ///   - body: Bytes to send.
    ///   - credentials: The credentials for this request; nil for the client's.
    ///   - deadlines: How long the request may take; nil for the client's ``HTTPClient/deadlines``.
    ///   - redirects: Which redirects are followed; nil for the client's ``HTTPClient/redirects``.
    ///   - bodyLimit: The maximum number of bytes of the response's body; nil for the session's limit.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a
    ///   status.
    public nonisolated(nonsending) func callAsFunction(
      _ path: String = "",
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
      let content = try RequestContent(json: json, encoder: client.encoder, form: form, body: body)
      let request = try client.request(
        name,
        path,
        query,
        headers,
        content,
        credentials,
        redirects: redirects,
        bodyLimit: bodyLimit
      )
      return try await client.response(to: request, deadlines: deadlines ?? client.deadlines)
    }

    /// Sends a request with a body that may be large, and suspends until the whole response has arrived.
    ///
    /// - Parameters:
    ///   - path: The destination, below the base URL.
    ///   - query: Items that are added to the query of the URL.
    ///   - headers: Header fields, in place of the client's of the same name.
    ///   - body: The body: bytes, a file, a sequence or a form.
    ///   - credentials: The credentials for this request; nil for the client's.
    ///   - deadlines: How long the request may take; nil for the client's ``HTTPClient/deadlines``.
    ///   - redirects: Which redirects are followed; nil for the client's ``HTTPClient/redirects``.
    ///   - bodyLimit: The maximum number of bytes of the response's body; nil for the session's limit.
    ///   - progress: Called as the body is sent, one call at a time, on a queue of its own; the request returns after
    ///     the last call. A slow closure misses intermediate progress. When the body is sent again, it starts over.
    /// - Returns: The response, whatever its status.
    /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled. Never for a status.
    public nonisolated(nonsending) func callAsFunction(
      _ path: String = "",
      query: HTTPParameters = [:],
      headers: HTTPHeaders = [:],
      body: HTTPBody,
      credentials: HTTPCredentials? = nil,
      deadlines: HTTPDeadlines? = nil,
      redirects: HTTPRedirects? = nil,
      bodyLimit: Int? = nil,
      progress: (@Sendable (HTTPUploadProgress) -> Void)? = nil
    ) async throws -> HTTPResponse {
      let content = RequestContent(body)
      var request = try client.request(
        name,
        path,
        query,
        headers,
        content,
        credentials,
        redirects: redirects,
        bodyLimit: bodyLimit
      )
      request.upload = progress.map { UploadReporter(total: request.body.length, watcher: $0) }
      defer { request.upload?.close() }
      return try await client.response(to: request, deadlines: deadlines ?? client.deadlines)
    }
  }

  /// Requests a resource; a body is refused.
  public var get: Method { Method(name: "GET", client: self) }

  /// Sends a body for the resource to process.
  public var post: Method { Method(name: "POST", client: self) }

  /// Creates or replaces a resource.
  public var put: Method { Method(name: "PUT", client: self) }

  /// Deletes a resource.
  public var delete: Method { Method(name: "DELETE", client: self) }

  /// Changes a resource.
  public var patch: Method { Method(name: "PATCH", client: self) }

  /// Requests the status and headers of a resource; a body is refused.
  public var head: Method { Method(name: "HEAD", client: self) }

  /// Requests the methods that a resource supports.
  public var options: Method { Method(name: "OPTIONS", client: self) }

  /// Returns a method by its name, such as `PROPFIND`.
  ///
  /// - Parameter name: The name, which is sent as it is: methods are case-sensitive. A name that is not a token of
  ///   HTTP, and `CONNECT`, make each request throw ``HTTPError/refused(reason:)``.
  /// - Returns: The method, to be called as ``get`` is.
  public func method(_ name: String) -> Method { Method(name: name, client: self) }
}
