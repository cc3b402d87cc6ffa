// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// Shares connections, cookies and limits among requests and clients.
///
/// You need one only for settings that ``shared`` does not have, such as cookies, a proxy or a pinned key. It has no
/// cache, and stores no cookies unless it has a jar. When it goes out of scope, requests in flight continue, and then
/// its connections are closed. The transport is URLSession on Apple's platforms and libcurl on Linux; see
/// ``HTTPTransport``.
public final class HTTPSession: Sendable, CustomReflectable {
  /// The session of ``HTTP``, and of clients that you create without one.
  public static let shared = HTTPSession()

  /// The transport that sends the requests.
  let transport: any HTTPTransport
  /// The maximum number of bytes of a body in memory.
  let bodyLimit: Int
  let jar: HTTPCookieStorage?
  private let additional: HTTPHeaders
  private let uses = Lock((count: 0, isInvalidated: false))

  /// The default maximum number of connections to one host: 16.
  ///
  /// Browsers allow six, which a few long polls exhaust; servers commonly serve some hundred clients at once. A request
  /// that waits for a connection is in flight; its `total` deadline counts, its `headers` deadline does not with
  /// libcurl.
  public static let defaultConnectionsPerHost = 16

  /// The default maximum number of bytes of a response's body in memory, decompressed: 64 MiB.
  public static let defaultBodyLimit = 64 * 1024 * 1024

  /// Creates a session.
  ///
  /// - Parameters:
  ///   - connectionsPerHost: The maximum number of connections to one host; further requests wait for one. Each takes a
  ///     file descriptor. With libcurl, requests in flight do not share a connection, also over HTTP/2.
  ///   - cookies: The jar that stores cookies; nil for none. A request's own header `Cookie` takes precedence over it.
  ///     Cookies do not follow a redirect to another port or scheme of their host.
  ///   - tls: The trust settings and the client certificate.
  ///   - proxy: The proxy between the session and the servers.
  ///   - bodyLimit: The maximum number of bytes of a response's body in memory, decompressed; a larger one throws
  ///     ``HTTPError/bodyTooLarge(limit:)``. It does not apply to streams and downloads.
  public convenience init(
    connectionsPerHost: Int = defaultConnectionsPerHost,
    cookies: HTTPCookieStorage? = nil,
    tls: HTTPTLSSettings = HTTPTLSSettings(),
    proxy: HTTPProxy = .system,
    bodyLimit: Int = defaultBodyLimit
  ) {
    #if os(Linux) || os(Android)
      let transport = CurlTransport(CurlSettings(connectionsPerHost: connectionsPerHost, tls: tls, proxy: proxy))
    #else
      let transport = URLSessionTransport(connectionsPerHost: connectionsPerHost, tls: tls, proxy: proxy)
    #endif
    self.init(transport: transport, cookies: cookies, bodyLimit: bodyLimit)
  }

  /// Creates a session with URLSession's connections per host, cookie jar, headers, protocol classes and proxies.
  ///
  /// Its cache and its time limits are not used: ``HTTPDeadlines`` are. On Linux the transport is libcurl where the
  /// settings have neither protocol classes nor proxies.
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

  /// Creates a session with your own transport, such as a stub in a test, which is invalidated with the session.
  public init(transport: any HTTPTransport, cookies: HTTPCookieStorage? = nil, bodyLimit: Int = defaultBodyLimit) {
    self.transport = transport
    self.bodyLimit = bodyLimit
    jar = cookies
    additional = [:]
  }

  deinit { transport.invalidate() }

  /// Ends the session: requests in flight continue, further ones are refused.
  ///
  /// A request in flight may still be redirected and repeated.
  public func invalidate() {
    let isIdle = uses.withLock { uses in
      uses.isInvalidated = true
      return uses.count == 0
    }
    if isIdle { transport.invalidate() }
  }

  /// Keeps the transport usable until the result is released.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when the session has ended.
  func use() throws(HTTPError) -> HTTPSessionUse {
    let isRefused = uses.withLock { uses in
      if !uses.isInvalidated { uses.count += 1 }
      return uses.isInvalidated
    }
    if isRefused { throw .refused(reason: "the session has ended") }
    return HTTPSessionUse(self)
  }

  fileprivate func endUse() {
    let isLast = uses.withLock { uses in
      uses.count -= 1
      return uses.count == 0 && uses.isInvalidated
    }
    if isLast { transport.invalidate() }
  }

  /// Sends a checked request once, with its redirects, and waits for the head of the response.
  func open(_ request: HTTPRequest, _ use: HTTPSessionUse) async throws -> HTTPResponseStream {
    var request = request
    request.headers = additional.merging(request.headers)
    try Task.checkCancellation()
    let exchange = Exchange(request, in: self, use)
    let (head, url) = try await exchange.head()
    return HTTPResponseStream(
      status: head.status,
      headers: head.headers,
      url: url,
      body: HTTPBodyStream { try await exchange.chunk() }
    )
  }

  private static func transport(_ configuration: URLSessionConfiguration) -> any HTTPTransport {
    #if os(Linux) || os(Android)
      let names = { (configuration: URLSessionConfiguration) in
        (configuration.protocolClasses ?? []).map { String(describing: $0) }
      }
      if names(configuration) == names(.ephemeral), configuration.connectionProxyDictionary?.isEmpty ?? true {
        return CurlTransport(CurlSettings(connectionsPerHost: configuration.httpMaximumConnectionsPerHost))
      }
    #endif
    return URLSessionTransport(configuration: configuration)
  }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// One request that uses a session, with all that it leads to: redirects, attempts, and the rest of its body.
final class HTTPSessionUse: Sendable {
  private let session: HTTPSession

  fileprivate init(_ session: HTTPSession) { self.session = session }

  deinit { session.endUse() }
}
