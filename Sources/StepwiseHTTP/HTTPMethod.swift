// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A method of ``HTTP``, such as ``HTTP/get``, that is called as a function.
public struct HTTPMethod: Sendable {
  let name: String

  init(_ name: String) { self.name = name }

  /// Sends a request, and suspends until the whole answer is there.
  ///
  /// It ends at once when its Task is cancelled, and when a deadline passes. At most ten redirects are followed. Of a body
  /// there is one at most: `json`, `form` or `body`. A name and password in the address are sent as Basic authentication,
  /// unless there are other credentials.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - encoder: The encoder of `json`.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func callAsFunction(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    encoder: JSONEncoder = JSONEncoder(),
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, encoder: encoder, form: form, body: body)
    let request = try OutgoingRequest(name, url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }
}
