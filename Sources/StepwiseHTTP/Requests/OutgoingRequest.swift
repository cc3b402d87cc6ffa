// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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

  /// Those that URLSession writes by itself, or that end in a request which the server waits in vain for the rest of.
  private static let reserved: Set<String> = ["connection", "content-length", "transfer-encoding"]

  private static func check(_ field: HTTPHeaders.Field) throws(HTTPError) {
    let isToken = field.name.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
      }
    }
    guard isToken, !field.name.isEmpty else { throw .refused(reason: "a header has no proper name") }
    guard !field.value.unicodeScalars.contains(where: { $0.value < 32 && $0 != "\t" || $0.value == 127 }) else {
      throw .refused(reason: "the value of the header \(field.name) has a line break or a control character in it")
    }
    guard !reserved.contains(field.name.lowercased()) else {
      throw .refused(reason: "the header \(field.name) is URLSession's own")
    }
  }

  /// As URLSession wants it, with a time limit of its own that never comes first.
  func urlRequest(cookies: String?) -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.timeoutInterval = 30 * 24 * 3600
    request.cachePolicy = .reloadIgnoringLocalCacheData
    request.httpShouldHandleCookies = false
    request.httpBody = body
    for field in headers.fields { request.addValue(field.value, forHTTPHeaderField: field.name) }
    if let cookies, headers["Cookie"] == nil { request.setValue(cookies, forHTTPHeaderField: "Cookie") }
    return request
  }
}
