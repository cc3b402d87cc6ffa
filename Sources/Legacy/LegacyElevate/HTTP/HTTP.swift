// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
internal import StepwiseHTTP

/// Requests that look as if they blocked, for the block of a task that runs in the background.
///
/// Each suspends until the whole answer is there, and ends at once when its task is cancelled or its time is up. Redirects
/// are followed, ten at most. Any status is an answer. There is no cache.
@available(*, deprecated, message: "Use HTTP of StepwiseHTTP")
public enum HTTP: Sendable {
  /// How many requests are in flight, for an indicator of activity.
  @available(*, deprecated, message: "Use HTTPActivity.current of StepwiseHTTP, or HTTP.activity, which goes on")
  public static var activityCount: Int { HTTPActivity.current }

  /// Gets what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - url: Where to.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use get of HTTP in StepwiseHTTP")
  public nonisolated(nonsending) static func get(
    _ url: String,
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.get.send(to: url, parts)
  }

  /// Sends something to be dealt with.
  ///
  /// - Parameters:
  ///   - url: Where to.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use post of HTTP in StepwiseHTTP")
  public nonisolated(nonsending) static func post(
    _ url: String,
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.post.send(to: url, parts)
  }

  /// Puts something there.
  ///
  /// - Parameters:
  ///   - url: Where to.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use put of HTTP in StepwiseHTTP")
  public nonisolated(nonsending) static func put(
    _ url: String,
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.put.send(to: url, parts)
  }

  /// Removes what is there.
  ///
  /// - Parameters:
  ///   - url: Where to.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use delete of HTTP in StepwiseHTTP")
  public nonisolated(nonsending) static func delete(
    _ url: String,
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.delete.send(to: url, parts)
  }

  /// Changes what is there.
  ///
  /// - Parameters:
  ///   - url: Where to.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use patch of HTTP in StepwiseHTTP")
  public nonisolated(nonsending) static func patch(
    _ url: String,
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.patch.send(to: url, parts)
  }

  /// Gets the status and headers of what is there; a body is refused.
  ///
  /// - Parameters:
  ///   - url: Where to.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use head of HTTP in StepwiseHTTP")
  public nonisolated(nonsending) static func head(
    _ url: String,
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.head.send(to: url, parts)
  }

  /// Asks what can be done there.
  ///
  /// - Parameters:
  ///   - url: Where to.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Use options of HTTP in StepwiseHTTP")
  public nonisolated(nonsending) static func options(
    _ url: String,
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(query, headers, body, json, form, credentials, allowSelfSignCertificate)
    return try await Method.options.send(to: url, parts)
  }
}
