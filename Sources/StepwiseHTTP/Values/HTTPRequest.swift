// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A request: what is sent, where to, and the rules for it.
///
/// The verbs, such as `HTTP.get` and `client.post`, create one from their arguments. Create one yourself for `send`,
/// `stream` and `download`, or change one in an HTTPInterceptor.
public struct HTTPRequest: Sendable, HTTPConcealed {
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

  private static let idempotentMethods = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"]

  /// A Boolean value that indicates whether the request may arrive twice.
  var isIdempotent: Bool { Self.idempotentMethods.contains(method) || headers["Idempotency-Key"] != nil }

  private static func adding(_ query: HTTPParameters, to url: URL) -> URL {
    guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return url }
    let before = parts.percentEncodedQuery.map { $0.isEmpty ? "" : $0 + "&" } ?? ""
    parts.percentEncodedQuery = before + query.query
    return parts.url ?? url
  }

  /// The method; a URL may contain secrets.
  public var description: String { "HTTPRequest(\(method))" }

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

  /// Returns whether a URL needs no change and has no credentials, as most do: composing it again takes ten times as long.
  private static func isPlain(_ url: URL) -> Bool {
    url.baseURL == nil && (url.scheme == "http" || url.scheme == "https") && url.host?.isEmpty == false
      && url.user(percentEncoded: true) == nil && url.fragment(percentEncoded: true) == nil
      && !url.path(percentEncoded: true).isEmpty && (0...65_535).contains(url.port ?? 0)
  }

  /// The characters of a token, as RFC 9110, section 5.6.2, defines it.
  private static let token = Set("abcdefghijklmnopqrstuvwxyz0123456789-.ABCDEFGHIJKLMNOPQRSTUVWXYZ!#$%&'*+^_`|~".utf8)

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
public struct HTTPCredentials: Sendable, Hashable, HTTPConcealed {
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

  /// A text without the credentials.
  public var description: String { "HTTPCredentials(hidden)" }
}

/// The time limits of a request.
///
/// Set `total` if your user waits for the answer. This library enforces them, because URLSession does not do so on
/// every system. When one passes, the wait ends immediately with ``HTTPError/timedOut(_:)``.
public struct HTTPDeadlines: Sendable {
  /// One of the deadlines.
  public enum Kind: Sendable, Hashable, CustomStringConvertible {
    /// ``HTTPDeadlines/connect``.
    case connect
    /// ``HTTPDeadlines/headers``.
    case headers
    /// ``HTTPDeadlines/idle``.
    case idle
    /// ``HTTPDeadlines/total``.
    case total

    /// What did not happen in time.
    public var description: String {
      switch self {
      case .connect: "the connection was not opened within the `connect` deadline"
      case .headers: "the head of the response did not arrive within the `headers` deadline"
      case .idle: "no further piece of the body arrived within the `idle` deadline"
      case .total: "the response was not complete within the `total` deadline"
      }
    }
  }

  /// The limit for opening a connection, with the look-up of the host's name and the TLS handshake; nil for none.
  ///
  /// libcurl measures it in real time; URLSession does not have it.
  public var connect: Duration?

  /// The limit from the start, or from the last byte of the body that was sent, to the head of the response; nil for
  /// none.
  ///
  /// It includes connecting, and starts over with each redirect.
  public var headers: Duration?

  /// The limit between one piece of the response and the next; nil for none.
  public var idle: Duration?

  /// The limit from the start to the end of the response, including redirects; nil for none.
  public var total: Duration?

  /// The clock that measures them.
  public var clock: any Clock<Duration>

  /// Creates deadlines; by default a minute for the head and a minute between pieces.
  public init(
    connect: Duration? = nil,
    headers: Duration? = .seconds(60),
    idle: Duration? = .seconds(60),
    total: Duration? = nil,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.connect = connect
    self.headers = headers
    self.idle = idle
    self.total = total
    self.clock = clock
  }

  /// A minute for the head, a minute between pieces, and no limit for the whole response.
  public static var standard: HTTPDeadlines { HTTPDeadlines() }

  /// No deadlines.
  public static var never: HTTPDeadlines { HTTPDeadlines(headers: nil, idle: nil, total: nil) }
}

/// Which redirects a request follows; at most ten in any case.
///
/// Use `never` if you want to see the redirect yourself. A redirect that is not followed is returned as the response,
/// with its body.
public struct HTTPRedirects: Sendable {
  fileprivate let isFollowed: @Sendable (HTTPRedirect) -> Bool

  /// Follows all redirects.
  public static var follow: HTTPRedirects { HTTPRedirects { _ in true } }

  /// Follows no redirect.
  public static var never: HTTPRedirects { HTTPRedirects { _ in false } }

  /// Follows the redirects that a closure accepts.
  ///
  /// ```swift
  /// let response = try await HTTP.get(url, redirects: .decide { $0.isSameOrigin })
  /// ```
  ///
  /// It is called once for each redirect, within the request's Task.
  public static func decide(_ isFollowed: @escaping @Sendable (HTTPRedirect) -> Bool) -> HTTPRedirects {
    HTTPRedirects(isFollowed: isFollowed)
  }
}

/// A redirect that a server requests, for a closure that decides whether to follow it.
///
/// Return false for a ``target`` that you do not trust.
public struct HTTPRedirect: Sendable, HTTPConcealed {
  /// The status of the response, such as 302.
  public let status: Int

  /// The header fields of the response.
  public let headers: HTTPHeaders

  /// The URL that the response came from.
  public let url: URL

  /// The URL that the next request would be sent to.
  public let target: URL

  /// The method that the next request would have.
  public let method: String

  /// A Boolean value that indicates whether scheme, host and port stay the same.
  ///
  /// If so, credentials are sent along.
  public var isSameOrigin: Bool { HTTPRequest.origin(of: url) == HTTPRequest.origin(of: target) }

  /// The status; URLs may contain secrets.
  public var description: String { "HTTPRedirect(\(status))" }
}

extension HTTPRequest {
  /// The header fields that are sent to another origin; any other may identify the user.
  private static let harmless: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-encoding",
    "content-language", "content-type", "if-match", "if-modified-since", "if-none-match", "if-range",
    "if-unmodified-since", "pragma", "range", "user-agent",
  ]

  /// Returns the request that a response redirects to; nil when it is not a redirect that this request follows.
  ///
  /// A 303, and a 301 or 302 to a POST, is followed by a GET without the body. Another scheme, host or port is another
  /// origin: header fields that may be credentials are removed, also for later redirects. The jar is used for another
  /// host, which has its own cookies, but not for another port or scheme of the same host: a jar does not distinguish
  /// these.
  func redirected(by head: HTTPResponseHead) -> HTTPRequest? {
    let (status, headers) = (head.status, head.headers)
    guard [301, 302, 303, 307, 308].contains(status), let location = headers["Location"],
      let found = URL(string: location, relativeTo: url), let (target, _) = Self.address(found)
    else { return nil }
    var next = self
    next.url = target
    if status == 303 ? method != "HEAD" : method == "POST" && status < 303 {
      next.method = "GET"
      next.body = nil
      next.upload = nil
      next.headers.keepOnly { !$0.hasPrefix("content-") }
    }
    if Self.origin(of: target) != Self.origin(of: url) {
      next.headers.keepOnly { Self.harmless.contains($0) }
      next.usesJar = target.host?.lowercased() != url.host?.lowercased()
    }
    let redirect = HTTPRedirect(status: status, headers: headers, url: url, target: target, method: next.method)
    return redirects?.isFollowed(redirect) ?? true ? next : nil
  }

  /// The scheme, host and port of an absolute URL of HTTP, without the user's name.
  static func origin(of url: URL) -> String {
    let scheme = url.scheme?.lowercased() ?? ""
    let host = url.host?.lowercased() ?? ""
    return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }
}
