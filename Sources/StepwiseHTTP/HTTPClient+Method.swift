// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

extension HTTPClient {
  /// A method of a client, such as ``HTTPClient/get``, that is called as a function.
  public struct Method: Sendable {
    let name: String
    let client: HTTPClient

    /// Sends a request, and suspends until the whole answer is there; see ``HTTPMethod`` for how it ends.
    ///
    /// - Parameters:
    ///   - path: Where to, below the base.
    ///   - query: What is added to the query of the address.
    ///   - headers: Header fields, in the place of the client's of the same name.
    ///   - json: A value to be sent as JSON.
    ///   - form: Names and values to be sent as a form.
    ///   - body: Bytes to be sent as they are.
    ///   - credentials: The credentials for this request; nil for the client's.
    ///   - deadlines: How long the request may take; nil for the client's ``HTTPClient/deadlines``.
    /// - Returns: The answer, whatever its status.
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
      deadlines: HTTPDeadlines? = nil
    ) async throws -> HTTPResponse {
      let content = try RequestContent(json: json, encoder: client.encoder, form: form, body: body)
      let request = try client.request(name, path, query, headers, content, credentials)
      var response = try await client.session.response(to: request, deadlines: deadlines ?? client.deadlines)
      response.decoder = client.decoder
      return response
    }
  }

  /// Gets what is there; a body is refused.
  public var get: Method { Method(name: "GET", client: self) }

  /// Sends something to be dealt with.
  public var post: Method { Method(name: "POST", client: self) }

  /// Puts something there.
  public var put: Method { Method(name: "PUT", client: self) }

  /// Removes what is there.
  public var delete: Method { Method(name: "DELETE", client: self) }

  /// Changes what is there.
  public var patch: Method { Method(name: "PATCH", client: self) }

  /// Gets the status and headers of what is there; a body is refused.
  public var head: Method { Method(name: "HEAD", client: self) }

  /// Asks what can be done there.
  public var options: Method { Method(name: "OPTIONS", client: self) }

  /// Returns a method by its name, such as `PROPFIND`.
  ///
  /// - Parameter name: The name, which is sent as it is: methods are case-sensitive. A name that is not a token of HTTP, and
  ///   `CONNECT`, make each request throw ``HTTPError/refused(reason:)``.
  /// - Returns: The method, to be called as ``get`` is.
  public func method(_ name: String) -> Method { Method(name: name, client: self) }
}
