// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
internal import StepwiseHTTP

/// What `get` and the other six of `HTTP` and of an `HTTPClient` are: each is called as a function is.
@available(*, deprecated, message: "Call the functions of HTTP and of HTTPClient in StepwiseHTTP")
public struct HTTPFunction: Sendable {
  private let method: Method
  private let client: StepwiseHTTP.HTTPClient?

  init(_ method: Method, of client: StepwiseHTTP.HTTPClient? = nil) {
    self.method = method
    self.client = client
  }

  /// Makes a request.
  ///
  /// - Parameters:
  ///   - address: Where to: of `HTTP` the whole address, of a client the path below its base.
  ///   - query: What is added to the query of the address.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON.
  ///   - form: Names and values to be sent as a form.
  ///   - credentials: The `username` and the `password` of who asks.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The answer, whatever its status.
  /// - Throws: `OfflineError`, `TimeoutError`, `RequestError`, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Call the functions of HTTP and of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func callAsFunction(
    _ address: String = "",
    query: [String: Any] = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: [String: Any]? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    let parts = Method.Parts(
      query: query,
      headers: headers,
      body: body,
      json: json,
      form: form,
      credentials: credentials,
      allowsSelfSignedCertificate: allowSelfSignCertificate
    )
    guard let client else { return try await method.send(to: address, parts) }
    return try await method.send(address, by: client, parts)
  }
}
