// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A request that was looked at: nothing in it would be dropped or altered on the way.
struct OutgoingRequest: Sendable {
  var method: String
  /// Without a name, a password and a fragment.
  var url: URL
  var headers: HTTPHeaders
  var body: Data?
  /// Whether a jar's cookies go along.
  var usesJar = true

  init(
    _ method: String,
    _ url: URL,
    _ query: HTTPParameters = [:],
    _ headers: HTTPHeaders = [:],
    _ content: RequestContent? = nil,
    _ credentials: HTTPCredentials? = nil
  ) throws(HTTPError) {
    guard let (plain, embedded) = Self.address(url, query) else { throw .invalidURL }
    guard Self.isToken(method), method.uppercased() != "CONNECT" else {
      throw .refused(reason: "its method is not a token of HTTP, or is CONNECT, which only a proxy is sent")
    }
    for field in headers.fields { try Self.check(field) }
    if content?.body != nil, method == "GET" || method == "HEAD" {
      throw .refused(reason: "a \(method) cannot have a body")
    }
    self.method = method
    self.url = plain
    self.headers = headers
    body = content?.body
    if let content, content.body != nil, headers["Content-Type"] == nil { self.headers["Content-Type"] = content.type }
    if let credentials = credentials ?? (headers["Authorization"] == nil ? embedded : nil) {
      self.headers["Authorization"] = try credentials.authorization()
      for field in self.headers.fields { try Self.check(field) }
    }
  }

  /// The address without a name and password, and those; nil when it is no address of http.
  static func address(_ url: URL, _ query: HTTPParameters = [:]) -> (URL, HTTPCredentials?)? {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      parts.host?.isEmpty == false, (0...65_535).contains(parts.port ?? 0)
    else { return nil }
    let credentials = parts.user.map { HTTPCredentials.basic(user: $0, password: parts.password ?? "") }
    // URLSession on Linux knows them in lower case only.
    parts.scheme = scheme
    parts.user = nil
    parts.password = nil
    parts.fragment = nil
    if parts.path.isEmpty { parts.path = "/" }
    if !query.items.isEmpty {
      let before = parts.percentEncodedQuery.map { $0.isEmpty ? "" : $0 + "&" } ?? ""
      parts.percentEncodedQuery = before + query.query
    }
    return parts.url.map { ($0, credentials) }
  }

  /// Fields that URLSession writes itself, or that make the server wait in vain for the rest of the request.
  private static let reserved: Set<String> = ["connection", "content-length", "transfer-encoding"]

  /// Whether a text is a token, as RFC 9110, section 5.6.2, defines it.
  private static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  private static func check(_ field: HTTPHeaders.Field) throws(HTTPError) {
    guard isToken(field.name) else { throw .refused(reason: "a header has no proper name") }
    guard !field.value.unicodeScalars.contains(where: { $0.value < 32 && $0 != "\t" || $0.value == 127 }) else {
      throw .refused(reason: "the value of the header \(field.name) has a line break or a control character in it")
    }
    guard !reserved.contains(field.name.lowercased()) else {
      throw .refused(reason: "the header \(field.name) is URLSession's own")
    }
  }
}
