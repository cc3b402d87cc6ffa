// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
internal import StepwiseHTTP

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// What `get` and the other six of `HTTP` and of an `HTTPClient` are: each is called as a function is.
@available(*, deprecated, message: "Call the methods of HTTP and of HTTPClient in StepwiseHTTP")
public struct HTTPFunction: Sendable {
  private let method: String
  private let client: HTTPClient?

  /// Creates a function that sends to a path below the base of a client, or, without one, to a URL.
  init(_ method: String, of client: HTTPClient? = nil) {
    self.method = method
    self.client = client
  }

  /// Sends a request, and suspends until the whole response is there.
  ///
  /// - Parameters:
  ///   - address: The URL; of a client the path below its base, which a path with a leading slash replaces.
  ///   - query: What is added to the query of the URL, in this order.
  ///   - headers: Header fields.
  ///   - body: Bytes to be sent as they are.
  ///   - json: What is sent as JSON, in the place of a body and a form.
  ///   - form: Names and values to be sent as a form, in the place of a body.
  ///   - credentials: The `username`, the `password`, or both.
  ///   - allowSelfSignCertificate: Cannot be had: with true the request is refused.
  /// - Returns: The response, whatever its status.
  /// - Throws: `RequestError`, which an `OfflineError` is, too, and `CancelledError` in a task that was cancelled.
  @available(*, deprecated, message: "Call the methods of HTTP and of HTTPClient in StepwiseHTTP")
  public nonisolated(nonsending) func callAsFunction(
    _ address: String = "",
    query: HTTPValues = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: HTTPValues? = nil,
    credentials: [String: String]? = nil,
    allowSelfSignCertificate: Bool = false
  ) async throws -> Response {
    guard !allowSelfSignCertificate else {
      let reason = "allowSelfSignCertificate is not supported; add the certificate to those that the system trusts"
      throw RequestParts.refused(reason, code: .serverCertificateUntrusted)
    }
    do {
      let parts = try RequestParts(
        try client?.address(address) ?? address,
        query: query,
        headers: client?.headers(headers) ?? headers,
        body: body,
        json: json,
        form: form,
        credentials: credentials ?? client?.credentials
      )
      return try await HTTP.response(method, parts)
    } catch is CancellationError {
      throw CancelledError()
    } catch {
      throw ElevateErrors.old(error)
    }
  }
}
