// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// Requests without a client of one's own.
///
/// Each function suspends until the whole answer is there, and gives it whatever its status. It ends at once when its Task
/// is cancelled, with `CancellationError`, and when a deadline passes. At most ten redirects are followed. Of a body there
/// is one at most: `json`, `form` or `body`. A name and password in the address are sent as Basic authentication, unless
/// there are other credentials.
public enum HTTP: Sendable {
  /// The number of requests in flight in this process.
  public static var activity: HTTPActivity { HTTPActivity() }

  /// Gets what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) static func get(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    let request = try OutgoingRequest("GET", url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }

  /// Sends something to be dealt with.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) static func post(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    let request = try OutgoingRequest("POST", url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }

  /// Puts something there.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) static func put(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    let request = try OutgoingRequest("PUT", url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }

  /// Removes what is there.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) static func delete(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    let request = try OutgoingRequest("DELETE", url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }

  /// Changes what is there.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) static func patch(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    let request = try OutgoingRequest("PATCH", url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }

  /// Gets the status and headers of what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) static func head(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    let request = try OutgoingRequest("HEAD", url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }

  /// Asks what can be done there.
  ///
  /// - Parameters:
  ///   - url: Where to, as a `URL` or a `String`.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks.
  ///   - deadlines: How long it may take.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) static func options(
    _ url: some HTTPAddress,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil,
    deadlines: HTTPDeadlines = .standard
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    let request = try OutgoingRequest("OPTIONS", url.httpURL(), query, headers, content, credentials)
    return try await HTTPSession.shared.response(to: request, deadlines: deadlines)
  }
}
