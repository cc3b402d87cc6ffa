// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// The connections that requests share.
///
/// It keeps no cache, and no cookies unless it is given a jar. It ends, after the requests that are in flight, when it goes
/// out of scope. The transport is URLSession on Apple's platforms and libcurl on Linux; see ``HTTPTransport``.
public final class HTTPSession: Sendable {
  /// The session of ``HTTP``, and of clients that are given no other.
  public static let shared = HTTPSession()

  /// What carries the requests.
  let transport: any HTTPTransport
  /// How many bytes a body in memory may have.
  let bodyLimit: Int
  let jar: HTTPCookieStorage?
  private let additional: HTTPHeaders

  /// How many connections to one host a session opens at most, unless it is told: 16.
  ///
  /// Browsers have six, which a long poll or two use up; servers commonly serve some hundred clients at once. A request
  /// that waits for a connection is in flight, and its deadlines count.
  public static let defaultConnectionsPerHost = 16

  /// How many bytes the body of a response in memory may have, unless a session is told: 64 MiB, decompressed.
  public static let defaultBodyLimit = 64 * 1024 * 1024

  /// Creates a session.
  ///
  /// - Parameters:
  ///   - connectionsPerHost: How many connections to one host there are at most; further requests wait for one. Each takes a
  ///     file descriptor. Over HTTP/2 many requests share a connection.
  ///   - cookies: Where cookies are kept and taken from; nil for none. A header `Cookie` of a request goes before them. They
  ///     do not follow a redirect to another port or scheme of their host.
  ///   - tls: The trust settings and the client certificate.
  ///   - proxy: What stands between the session and the servers.
  ///   - bodyLimit: How many bytes the body of a response may have that is kept in memory, decompressed; a larger one is
  ///     ``HTTPError/bodyTooLarge(limit:)``. It counts for neither streams nor downloads.
  public convenience init(
    connectionsPerHost: Int = defaultConnectionsPerHost,
    cookies: HTTPCookieStorage? = nil,
    tls: HTTPTLSSettings = HTTPTLSSettings(),
    proxy: HTTPProxy = .system,
    bodyLimit: Int = defaultBodyLimit
  ) {
    self.init(
      transport: Self.transport(connectionsPerHost: connectionsPerHost, tls: tls, proxy: proxy),
      cookies: cookies,
      bodyLimit: bodyLimit
    )
  }

  /// Creates a session with URLSession's settings: connections per host, cookie jar, headers, protocol classes, proxies.
  ///
  /// Its cache and its time limits are not used: ``HTTPDeadlines`` are. On Linux the transport is libcurl where the settings
  /// have neither protocol classes nor proxies of their own.
  public init(configuration: URLSessionConfiguration) {
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in configuration.httpAdditionalHeaders ?? [:] {
      fields[name] = value
    }
    additional = HTTPHeaders(fields)
    jar = configuration.httpShouldSetCookies ? configuration.httpCookieStorage : nil
    transport = Self.transport(configuration)
    bodyLimit = Self.defaultBodyLimit
  }

  /// Creates a session with a transport of your own, such as a stub in a test.
  ///
  /// - Parameters:
  ///   - transport: What carries the requests. It is invalidated with the session.
  ///   - cookies: Where cookies are kept and taken from; nil for none.
  ///   - bodyLimit: How many bytes the body of a response may have that is kept in memory.
  public init(
    transport: any HTTPTransport,
    cookies: HTTPCookieStorage? = nil,
    bodyLimit: Int = defaultBodyLimit
  ) {
    self.transport = transport
    self.bodyLimit = bodyLimit
    jar = cookies
    additional = [:]
  }

  deinit { transport.invalidate() }

  /// Ends the session: requests in flight continue, further ones are refused.
  public func invalidate() { transport.invalidate() }

  /// Begins nothing yet: `head()` of what it returns sends the request.
  func exchange(
    _ request: OutgoingRequest,
    deadlines: HTTPDeadlines,
    onFailure: (@Sendable (any Error) -> Void)? = nil
  ) -> Exchange {
    var request = request
    request.headers = additional.merging(request.headers)
    return Exchange(request, in: self, deadlines: deadlines, onFailure: onFailure)
  }

  nonisolated(nonsending) func response(
    to request: OutgoingRequest,
    deadlines: HTTPDeadlines
  ) async throws -> HTTPResponse {
    let exchange = exchange(request, deadlines: deadlines)
    return try await exchange.response(exchange.head())
  }

  /// The request of a hop as the transport sends it, with the cookies of the jar.
  func transferRequest(
    _ request: OutgoingRequest,
    onSend: @escaping @Sendable (Int64) -> Void
  ) -> HTTPTransferRequest {
    var headers = request.headers
    if headers["Cookie"] == nil, let cookies = cookies(for: request) { headers["Cookie"] = cookies }
    return HTTPTransferRequest(
      method: request.method,
      url: request.url,
      headers: headers,
      body: request.body.map { .bytes($0) } ?? .none,
      onSend: request.body == nil ? nil : onSend
    )
  }

  private static func transport(
    connectionsPerHost: Int,
    tls: HTTPTLSSettings,
    proxy: HTTPProxy
  ) -> any HTTPTransport {
    #if os(Linux) || os(Android)
      if let transport = CurlTransport(connectionsPerHost: connectionsPerHost, tls: tls, proxy: proxy) {
        return transport
      }
    #endif
    return URLSessionTransport(connectionsPerHost: connectionsPerHost, tls: tls, proxy: proxy)
  }

  private static func transport(_ configuration: URLSessionConfiguration) -> any HTTPTransport {
    #if os(Linux) || os(Android)
      let names = { (configuration: URLSessionConfiguration) in
        (configuration.protocolClasses ?? []).map { String(describing: $0) }
      }
      if names(configuration) == names(.ephemeral), configuration.connectionProxyDictionary?.isEmpty ?? true,
        let transport = CurlTransport(connectionsPerHost: configuration.httpMaximumConnectionsPerHost)
      {
        return transport
      }
    #endif
    return URLSessionTransport(configuration: configuration)
  }
}

extension HTTPSession: CustomReflectable {
  /// Shows nothing of what is inside, which changes while it is looked at.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
