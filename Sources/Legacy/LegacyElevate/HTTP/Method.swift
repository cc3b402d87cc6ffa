// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Foundation
internal import StepwiseHTTP

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// What the seven functions of `HTTP` and those of a client have in common.
@available(*, deprecated)
enum Method {
  case get, post, put, delete, patch, head, options

  /// What a request is made of, as the old spellings have it.
  struct Parts {
    let query: [String: Any]
    let headers: [String: String]
    let body: Data?
    let json: Any?
    let form: [String: Any]?
    let credentials: [String: String]?
    let allowsSelfSignedCertificate: Bool
  }

  /// What a request is made of, as the new ones have it.
  private struct NewParts {
    let query: HTTPParameters
    var headers: HTTPHeaders
    let form: HTTPParameters?
    var body: Data?
    let credentials: HTTPCredentials?

    init(_ parts: Parts) throws {
      guard !parts.allowsSelfSignedCertificate else {
        throw RequestError(
          code: URLError.Code.serverCertificateUntrusted.rawValue,
          description: "allowSelfSignCertificate cannot be had: add the certificate to those that the system trusts"
        )
      }
      query = Method.parameters(parts.query)
      headers = HTTPHeaders(parts.headers)
      form = parts.form.map(Method.parameters)
      body = parts.body
      credentials = try parts.credentials.map(Method.credentials)
      guard let json = parts.json else { return }
      guard parts.body == nil else { throw Method.refused("it has both json and body") }
      guard JSONSerialization.isValidJSONObject([json]) else {
        throw Method.refused("json has something in it that JSON has not")
      }
      body = try JSONSerialization.data(withJSONObject: json, options: .fragmentsAllowed)
      if headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
    }
  }

  private static func refused(_ reason: String) -> RequestError {
    RequestError(code: URLError.Code.unknown.rawValue, description: "the request cannot be made: \(reason)")
  }

  static func credentials(_ names: [String: String]) throws -> HTTPCredentials {
    guard let user = names["username"], let password = names["password"], names.count == 2 else {
      throw refused("credentials have a username and a password, and nothing else")
    }
    return .basic(user: user, password: password)
  }

  /// Each value as text; of an array each element, under the same name.
  private static func parameters(_ values: [String: Any]) -> HTTPParameters {
    var parameters = HTTPParameters()
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      for element in value as? [Any] ?? [value] { parameters.add(name, "\(element)") }
    }
    return parameters
  }

  // MARK: - Sending

  /// Sends a request to an address.
  nonisolated(nonsending) func send(to url: String, _ parts: Parts) async throws -> Response {
    let base = try Self.translated { try url.httpURL() }
    var client = StepwiseHTTP.HTTPClient(baseURL: base)
    client.headers = [:]
    return try await send("", by: client, parts)
  }

  /// Sends a request to a path below the base of a client.
  nonisolated(nonsending) func send(
    _ path: String,
    by client: StepwiseHTTP.HTTPClient,
    _ parts: Parts
  ) async throws -> Response {
    let parts = try Self.translated { try NewParts(parts) }
    do {
      return Response(
        try await method(of: client)(
          path,
          query: parts.query,
          headers: parts.headers,
          form: parts.form,
          body: parts.body,
          credentials: parts.credentials
        )
      )
    } catch is CancellationError {
      throw CancelledError()
    } catch {
      throw ElevateErrors.old(error)
    }
  }

  private static func translated<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw ElevateErrors.old(error) }
  }

  private func method(of client: StepwiseHTTP.HTTPClient) -> StepwiseHTTP.HTTPClient.Method {
    switch self {
    case .get: client.get
    case .post: client.post
    case .put: client.put
    case .delete: client.delete
    case .patch: client.patch
    case .head: client.head
    case .options: client.options
    }
  }
}
