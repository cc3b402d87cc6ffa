// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A request: what is sent, where to, and the rules for it.
///
/// The verbs, such as `HTTP.get` and `client.post`, create one from their arguments. Create one yourself for `send`,
/// `stream` and `download`, or change one in an HTTPInterceptor.
public struct HTTPRequest: Sendable {
  /// The method, which is case-sensitive.
  ///
  /// A name that is not a token of HTTP, and `CONNECT`, are refused.
  public var method: String

  /// The URL, with the query.
  ///
  /// One without a scheme is a path below the base URL of the client that sends it.
  public var url: URL

  /// The header fields.
  ///
  /// In an interceptor, those of the client and its credentials are among them.
  public var headers: HTTPHeaders

  /// The body; nil for none.
  public var body: HTTPBody?

  /// The credentials, which replace the header `Authorization`; nil for those of the client.
  public var credentials: HTTPCredentials?

  /// How long the request may take; nil for the client's deadlines.
  public var deadlines: HTTPDeadlines?

  /// Which redirects are followed; nil for the client's.
  public var redirects: HTTPRedirects?

  /// The maximum number of bytes of the response's body in memory; nil for the session's limit.
  public var bodyLimit: Int?

  /// The maximum number of bytes of the response's head; a transport throws ``HTTPError/headersTooLarge(limit:)``.
  public var headerLimit: Int { 256 * 1024 }

  /// Called by the transport with the number of bytes of the body sent so far, in order; returns quickly.
  public internal(set) var onBytesSent: (@Sendable (_ sentBytes: Int64) -> Void)?

  /// Called by the transport with true when it has to wait until fewer connections to the host are in use, and with
  /// false when it sends the request, so that the `headers` deadline does not include the wait.
  public internal(set) var onWait: (@Sendable (_ isWaiting: Bool) -> Void)?

  /// Whether the cookies of a jar are sent.
  var usesJar = true

  /// Reports how much of the body has been sent.
  var upload: UploadReporter?

  /// Called at once when the request fails or is late, even if no consumer waits.
  var onFailure: (@Sendable (any Error) -> Void)?

  /// Creates a request; the items of `query` are added to the query of the URL.
  public init(
    method: String = "GET",
    url: URL,
    query: HTTPParameters = [:],
    headers: HTTPHeaders = [:],
    body: HTTPBody? = nil,
    credentials: HTTPCredentials? = nil
  ) {
    self.method = method
    self.url = query.items.isEmpty ? url : Self.adding(query, to: url)
    self.headers = headers
    self.body = body
    self.credentials = credentials
  }

  /// Calls a closure as the body is sent, if there is one.
  ///
  /// It is called one call at a time, on a separate queue, and not after the head of the response was returned. A slow
  /// closure misses intermediate progress. When the body is sent again, the progress starts over.
  public mutating func onSend(_ progress: (@Sendable (HTTPUploadProgress) -> Void)?) {
    upload = progress.map { UploadReporter(total: body?.content.length, watcher: $0) }
  }

  /// A Boolean value that indicates whether the request may arrive twice.
  var isIdempotent: Bool {
    ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"].contains(method) || headers["Idempotency-Key"] != nil
  }

  private static func adding(_ query: HTTPParameters, to url: URL) -> URL {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
    let before = parts.percentEncodedQuery.map { $0.isEmpty ? "" : $0 + "&" } ?? ""
    parts.percentEncodedQuery = before + query.query
    return parts.url ?? url
  }
}

extension HTTPRequest: HTTPConcealed {
  /// The method; a URL may contain secrets.
  public var description: String { "HTTPRequest(\(method))" }
}

extension HTTPRequest {
  /// Returns the request as it is sent, with its credentials and the type of its body in the headers.
  ///
  /// The URL has no user name, password or fragment.
  ///
  /// - Throws: ``HTTPError`` when something in it would be dropped or altered.
  func checked() throws(HTTPError) -> HTTPRequest {
    guard let (plain, embedded) = Self.address(url) else { throw .invalidURL }
    guard Self.isToken(method), method.uppercased() != "CONNECT" else {
      throw .refused(reason: "its method is not a token of HTTP, or is CONNECT")
    }
    var request = self
    request.url = plain
    if let body {
      guard method != "GET", method != "HEAD" else { throw .refused(reason: "a \(method) cannot have a body") }
      if let refusal = body.refusal { throw .refused(reason: refusal) }
      if headers["Content-Type"] == nil, !body.type.isEmpty { request.headers["Content-Type"] = body.type }
    }
    if let credentials = credentials ?? (headers["Authorization"] == nil ? embedded : nil) {
      request.headers["Authorization"] = try credentials.authorization()
      request.credentials = nil
    }
    for field in request.headers.fields { try Self.check(field) }
    return request
  }

  /// Returns the URL without its user name and password, and these; nil when it is not an HTTP URL.
  static func address(_ url: URL) -> (URL, HTTPCredentials?)? {
    if isPlain(url) { return (url, nil) }
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
    return parts.url.map { ($0, credentials) }
  }

  /// Returns whether a URL needs no change and has no credentials, as most do: composing it anew takes ten times as long.
  private static func isPlain(_ url: URL) -> Bool {
    url.baseURL == nil && (url.scheme == "http" || url.scheme == "https") && url.host?.isEmpty == false
      && url.user(percentEncoded: true) == nil && url.fragment(percentEncoded: true) == nil
      && !url.path(percentEncoded: true).isEmpty && (0...65_535).contains(url.port ?? 0)
  }

  /// The characters of a token, as RFC 9110, section 5.6.2, defines it.
  private static let token = Set(
    "abcdefghijklmnopqrstuvwxyz0123456789-.ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+^_`|~".utf8
  )

  /// Fields that the transport sets, or that make the server wait in vain for the rest of the request.
  private static let reserved: Set<String> = ["connection", "content-length", "transfer-encoding"]

  private static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(token.contains) }

  private static func check(_ field: HTTPHeaders.Field) throws(HTTPError) {
    guard isToken(field.name) else { throw .refused(reason: "the name of a header is not a token of HTTP") }
    guard !field.value.hasControlCharacter else {
      throw .refused(reason: "the value of the header \(field.name) contains a line break or a control character")
    }
    guard !reserved.contains(field.name.lowercased()) else {
      throw .refused(reason: "the header \(field.name) is set by the transport; remove it")
    }
  }
}

extension String {
  /// Whether there is a character that the value of a header field cannot have.
  var hasControlCharacter: Bool { unicodeScalars.contains { $0.value < 32 && $0 != "\t" || $0.value == 127 } }
}

/// A type that provides the URL of a request: `URL`, or `String`, which a client reads as a path below its base URL.
public protocol HTTPAddress: Sendable {
  /// Returns the URL, or throws ``HTTPError/invalidURL``.
  func httpURL() throws(HTTPError) -> URL
}

extension URL: HTTPAddress {
  /// Returns the URL itself; the request checks whether it can be used.
  public func httpURL() throws(HTTPError) -> URL { self }
}

extension String: HTTPAddress {
  /// Returns the URL that this text spells, or throws ``HTTPError/invalidURL``.
  public func httpURL() throws(HTTPError) -> URL {
    guard let url = URL(string: self) else { throw .invalidURL }
    return url
  }
}

/// Credentials for a request, which appear in no description.
///
/// Set them for a client once; they are not sent to another origin that a redirect leads to.
public struct HTTPCredentials: Sendable, Hashable {
  /// The value of the header `Authorization`; nil when the user's name cannot be sent.
  private let value: String?

  /// A name, without a colon, and a password, sent as Basic authentication; use it over `https` only.
  public static func basic(user: String, password: String) -> HTTPCredentials {
    let text = "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    return HTTPCredentials(value: user.contains(":") ? nil : text)
  }

  /// A token, sent as Bearer authentication.
  public static func bearer(_ token: String) -> HTTPCredentials { HTTPCredentials(value: "Bearer " + token) }

  /// The value of the header `Authorization`.
  func authorization() throws(HTTPError) -> String {
    guard let value else { throw .refused(reason: "a user's name cannot have a colon in it") }
    return value
  }
}

extension HTTPCredentials: HTTPConcealed {
  /// A text without the credentials.
  public var description: String { "HTTPCredentials(hidden)" }
}
