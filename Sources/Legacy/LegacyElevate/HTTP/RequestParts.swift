// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Foundation
internal import StepwiseHTTP

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// What a request is made of, as StepwiseHTTP has it.
@available(*, deprecated)
struct RequestParts: Sendable {
  let address: String
  private(set) var headers: HTTPHeaders
  private(set) var body: Data?

  init(
    _ address: String,
    query: HTTPValues = [:],
    headers: [String: String] = [:],
    body: Data? = nil,
    json: Any? = nil,
    form: HTTPValues? = nil,
    credentials: [String: String]? = nil
  ) throws {
    let separator = address.contains("?") ? "&" : "?"
    self.address = query.pairs.isEmpty ? address : address + separator + query.query
    self.headers = HTTPHeaders(headers)
    self.body = body
    if let json {
      guard JSONSerialization.isValidJSONObject([json]) else {
        throw Self.refused("json contains a value that JSON cannot represent")
      }
      self.body = try JSONSerialization.data(withJSONObject: json, options: .fragmentsAllowed)
      self.headers["Content-Type"] = "application/json"
    } else if let form {
      self.body = Data(form.form.utf8)
      if self.headers["Content-Type"] == nil { self.headers["Content-Type"] = "application/x-www-form-urlencoded" }
    }
    if let credentials { self.headers["Authorization"] = try Self.authorization(credentials) }
  }

  static func refused(_ reason: String, code: URLError.Code = .unknown) -> RequestError {
    RequestError(code: code.rawValue, description: "the request cannot be made: \(reason)")
  }

  /// A name, a password, or both.
  private static func authorization(_ credentials: [String: String]) throws -> String {
    guard Set(credentials.keys).isSubset(of: ["username", "password"]) else {
      throw refused("credentials have a username, a password, and nothing else")
    }
    let text = "\(credentials["username"] ?? ""):\(credentials["password"] ?? "")"
    return "Basic " + Data(text.utf8).base64EncodedString()
  }

  /// Resolves a path against a base as RFC 3986 says: one that begins with a slash replaces the path of the base.
  static func address(_ path: String, below base: String) throws -> String {
    let legal = CharacterSet(charactersIn: "-_.!~*'()/?:@+$[]").union(letters)
    guard let base = URL(string: base), base.host != nil,
      let escaped = path.addingPercentEncoding(withAllowedCharacters: legal),
      let url = escaped.isEmpty ? base : URL(string: escaped, relativeTo: base)
    else { throw refused("the URL of the client or the path is malformed", code: .badURL) }
    return url.absoluteURL.absoluteString
  }

  private static let letters = CharacterSet(charactersIn: "a"..."z").union(CharacterSet(charactersIn: "A"..."Z"))
    .union(CharacterSet(charactersIn: "0"..."9"))
}
