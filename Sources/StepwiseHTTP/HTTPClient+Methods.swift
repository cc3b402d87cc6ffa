// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

extension HTTPClient {
  /// Gets what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields, in the place of the client's of the same name.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks, in the place of the client's.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func get(
    _ path: String = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    return try await perform("GET", path, query, headers, content, credentials)
  }

  /// Sends something to be dealt with.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields, in the place of the client's of the same name.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks, in the place of the client's.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func post(
    _ path: String = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    return try await perform("POST", path, query, headers, content, credentials)
  }

  /// Puts something there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields, in the place of the client's of the same name.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks, in the place of the client's.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func put(
    _ path: String = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    return try await perform("PUT", path, query, headers, content, credentials)
  }

  /// Removes what is there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields, in the place of the client's of the same name.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks, in the place of the client's.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func delete(
    _ path: String = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    return try await perform("DELETE", path, query, headers, content, credentials)
  }

  /// Changes what is there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields, in the place of the client's of the same name.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks, in the place of the client's.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func patch(
    _ path: String = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    return try await perform("PATCH", path, query, headers, content, credentials)
  }

  /// Gets the status and headers of what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields, in the place of the client's of the same name.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks, in the place of the client's.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func head(
    _ path: String = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    return try await perform("HEAD", path, query, headers, content, credentials)
  }

  /// Asks what can be done there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields, in the place of the client's of the same name.
  ///   - json: A value to be sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - body: Bytes to be sent as they are.
  ///   - credentials: Who asks, in the place of the client's.
  /// - Returns: The answer, whatever its status.
  /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled; `EncodingError` of `json`. Never for a status.
  public nonisolated(nonsending) func options(
    _ path: String = "",
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    json: (any Encodable)? = nil,
    form: HTTPParameters? = nil,
    body: Data? = nil,
    credentials: HTTPCredentials? = nil
  ) async throws -> HTTPResponse {
    let content = try RequestContent(json: json, form: form, body: body)
    return try await perform("OPTIONS", path, query, headers, content, credentials)
  }
}
