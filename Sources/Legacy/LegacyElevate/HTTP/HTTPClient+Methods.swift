// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

@available(*, deprecated)
extension HTTPClient {
  /// Gets what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use get of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func get(
    _ path: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.get.send(path, by: modern, parts)
  }

  /// Sends something to be dealt with.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use post of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func post(
    _ path: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.post.send(path, by: modern, parts)
  }

  /// Puts something there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use put of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func put(
    _ path: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.put.send(path, by: modern, parts)
  }

  /// Removes what is there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use delete of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func delete(
    _ path: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.delete.send(path, by: modern, parts)
  }

  /// Changes what is there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use patch of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func patch(
    _ path: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.patch.send(path, by: modern, parts)
  }

  /// Gets the status and headers of what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use head of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func head(
    _ path: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.head.send(path, by: modern, parts)
  }

  /// Asks what can be done there.
  ///
  /// - Parameters:
  ///   - path: Where to, below the base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use options of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func options(
    _ path: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.options.send(path, by: modern, parts)
  }
}
