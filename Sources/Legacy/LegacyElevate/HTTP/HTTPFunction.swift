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
  private let method: @Sendable (StepwiseHTTP.HTTPClient) -> StepwiseHTTP.HTTPClient.Method
  private let client: StepwiseHTTP.HTTPClient?

  /// Creates a function that sends to a path below the base of a client, or, without one, to an address.
  init(
    of client: StepwiseHTTP.HTTPClient? = nil,
    _ method: @escaping @Sendable (StepwiseHTTP.HTTPClient) -> StepwiseHTTP.HTTPClient.Method
  ) {
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
  @available(*, deprecated, message: "Call the methods of HTTP and of HTTPClient in StepwiseHTTP")
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
    guard !allowSelfSignCertificate else {
      throw RequestError(
        code: URLError.Code.serverCertificateUntrusted.rawValue,
        description: "allowSelfSignCertificate cannot be had: add the certificate to those that the system trusts"
      )
    }
    do {
      let parts = try RequestParts(
        query: query,
        headers: headers,
        body: body,
        json: json,
        form: form,
        credentials: credentials
      )
      let response = try await method(client ?? Self.client(for: address))(
        client == nil ? "" : address,
        query: parts.query,
        headers: parts.headers,
        form: parts.form,
        body: parts.body,
        credentials: parts.credentials
      )
      return Response(response)
    } catch is CancellationError {
      throw CancelledError()
    } catch {
      throw ElevateErrors.old(error)
    }
  }

  /// A client whose base is an address, and that asks for nothing in particular.
  private static func client(for address: String) throws -> StepwiseHTTP.HTTPClient {
    var client = StepwiseHTTP.HTTPClient(baseURL: try address.httpURL())
    client.headers = [:]
    return client
  }
}
