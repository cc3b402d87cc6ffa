// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Foundation
internal import StepwiseHTTP

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// What a request is made of, as the new world has it, made of what the old one has.
@available(*, deprecated)
struct RequestParts {
  let query: HTTPParameters
  private(set) var headers: HTTPHeaders
  let form: HTTPParameters?
  private(set) var body: Data?
  let credentials: HTTPCredentials?

  init(
    query: [String: Any],
    headers: [String: String],
    body: Data?,
    json: Any?,
    form: [String: Any]?,
    credentials: [String: String]?
  ) throws {
    self.query = Self.parameters(query)
    self.headers = HTTPHeaders(headers)
    self.form = form.map(Self.parameters)
    self.body = body
    self.credentials = try credentials.map(Self.credentials)
    guard let json else { return }
    guard body == nil else { throw Self.refused("it has both json and body") }
    guard JSONSerialization.isValidJSONObject([json]) else {
      throw Self.refused("json has something in it that JSON has not")
    }
    self.body = try JSONSerialization.data(withJSONObject: json, options: .fragmentsAllowed)
    if self.headers["Content-Type"] == nil { self.headers["Content-Type"] = "application/json" }
  }

  private static func refused(_ reason: String) -> RequestError {
    RequestError(code: URLError.Code.unknown.rawValue, description: "the request cannot be made: \(reason)")
  }

  private static func credentials(_ names: [String: String]) throws -> HTTPCredentials {
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
}
