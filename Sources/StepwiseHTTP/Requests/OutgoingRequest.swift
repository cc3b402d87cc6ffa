// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A checked request: nothing in it would be dropped or altered when it is sent.
struct OutgoingRequest: Sendable {
  var method: String
  /// Without a user name, a password and a fragment.
  var url: URL
  var headers: HTTPHeaders
  var body = HTTPTransferBody.none
  /// Whether the body can be sent again.
  var isRepeatable = true
  /// Whether the cookies of a jar are sent.
  var usesJar = true
  let redirects: HTTPRedirects
  /// The maximum number of bytes of a body in memory; nil for the session's limit.
  let bodyLimit: Int?
  /// Reports how much of the body has been sent.
  var upload: UploadReporter?

  init(
    _ method: String,
    _ url: URL,
    _ query: HTTPParameters = [:],
    _ headers: HTTPHeaders = [:],
    _ content: RequestContent? = nil,
    _ credentials: HTTPCredentials? = nil,
    redirects: HTTPRedirects = .follow,
    bodyLimit: Int? = nil
  ) throws(HTTPError) {
    self.redirects = redirects
    self.bodyLimit = bodyLimit
    guard let (plain, embedded) = Self.address(url, query) else { throw .invalidURL }
    guard Self.isToken(method), method.uppercased() != "CONNECT" else {
      throw .refused(reason: "its method is not a token of HTTP, or is CONNECT")
    }
    if content?.body != nil, method == "GET" || method == "HEAD" {
      throw .refused(reason: "a \(method) cannot have a body")
    }
    self.method = method
    self.url = plain
    self.headers = headers
    if let body = content?.body {
      if let refusal = body.refusal { throw .refused(reason: refusal) }
      self.body = body.content
      isRepeatable = body.isRepeatable
      if headers["Content-Type"] == nil, !body.type.isEmpty { self.headers["Content-Type"] = body.type }
    }
    if let credentials = credentials ?? (headers["Authorization"] == nil ? embedded : nil) {
      self.headers["Authorization"] = try credentials.authorization()
    }
    for field in self.headers.fields { try Self.check(field) }
  }

  /// Returns the URL without its user name and password, and these; nil when it is not an HTTP URL.
  static func address(_ url: URL, _ query: HTTPParameters = [:]) -> (URL, HTTPCredentials?)? {
    if query.items.isEmpty, isPlain(url) { return (url, nil) }
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
      let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
      parts.host?.isEmpty == false, (0...65_535).contains(parts.port ?? 0)
    else { return nil }
    let credentials = parts.user.map { HTTPCredentials.basic(user: $0, password: parts.password ?? "") }
    // URLSession on Linux accepts schemes in lower case only.
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

  /// Returns whether a URL needs no change and has no credentials, as most do: taking it apart was a fifth of what a
  /// small request costs outside of the transport.
  private static func isPlain(_ url: URL) -> Bool {
    guard url.baseURL == nil else { return false }
    var text = url.absoluteString
    return text.withUTF8 { bytes in
      guard let scheme = ["http://", "https://"].first(where: { bytes.starts(with: $0.utf8) }) else { return false }
      let rest = bytes.dropFirst(scheme.utf8.count)
      let authority = rest.prefix { $0 != UInt8(ascii: "/") }
      let parts = authority.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
      let port = parts.count < 2 ? "80" : String(decoding: parts[1], as: UTF8.self)
      return authority.count < rest.count && !rest.contains(UInt8(ascii: "#"))
        && UInt16(port) != nil && port.first != "+"
        && parts[0].first.map { $0 != UInt8(ascii: ".") } ?? false
        && parts[0].allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."):
            true
          default: false
          }
        }
    }
  }

  /// Fields that the transport sets, or that make the server wait in vain for the rest of the request.
  private static let reserved: Set<String> = ["connection", "content-length", "transfer-encoding"]

  /// Returns whether a text is a token, as RFC 9110, section 5.6.2, defines it.
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
    guard isToken(field.name) else { throw .refused(reason: "the name of a header is not a token of HTTP") }
    guard !field.value.unicodeScalars.contains(where: { $0.value < 32 && $0 != "\t" || $0.value == 127 }) else {
      throw .refused(reason: "the value of the header \(field.name) contains a line break or a control character")
    }
    guard !reserved.contains(field.name.lowercased()) else {
      throw .refused(reason: "the header \(field.name) is set by the transport; remove it")
    }
  }
}

extension OutgoingRequest {
  /// Returns the request that an interceptor sends in place of this one.
  ///
  /// - Throws: ``HTTPError`` as for any request.
  func replaced(by request: HTTPRequest) throws(HTTPError) -> OutgoingRequest {
    var next = try OutgoingRequest(
      request.method,
      request.url,
      [:],
      request.headers,
      request.body.map { RequestContent($0) },
      redirects: redirects,
      bodyLimit: bodyLimit
    )
    next.upload = upload
    return next
  }
}
