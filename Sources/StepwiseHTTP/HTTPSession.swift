// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// The connections that requests share.
///
/// It keeps no cache, and no cookies unless it is given a jar. It ends, after the requests that are in flight, when it is
/// let go of.
///
/// Two things of URLSession on Linux, as of Swift 6.3, cannot be mended from here: a server that breaks off in the middle of
/// its headers ends the process (swift-corelibs-foundation #5285), and an address that names an IPv6 host by its number is
/// ``HTTPError/invalidURL``.
public final class HTTPSession: Sendable {
  /// The session of ``HTTP``, and of clients that are given no other.
  public static let shared = HTTPSession()

  private struct State {
    var isInvalidated = false
    /// How many are making a task right now, during which URLSession must not be invalidated.
    var makers = 0
  }

  private static let calls = DispatchQueue(label: "StepwiseHTTP.calls")

  private let session: URLSession
  private let delegate = SessionDelegate()
  private let state = Lock(State())
  private let jar: HTTPCookieStorage?
  private let additional: HTTPHeaders

  /// Creates a session.
  ///
  /// - Parameters:
  ///   - connectionsPerHost: How many connections to one host there are at most; further requests wait for one. URLSession's
  ///     own default, six, makes many requests wait long. Each connection takes a file descriptor.
  ///   - cookies: Where cookies are kept and taken from; nil for none. A header `Cookie` of a request goes before them. They
  ///     do not follow a redirect to another port or scheme of their host.
  public convenience init(connectionsPerHost: Int = 1_000, cookies: HTTPCookieStorage? = nil) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = max(1, connectionsPerHost)
    configuration.httpCookieStorage = cookies
    self.init(configuration: configuration)
  }

  /// Creates a session with URLSession's settings: connections per host, cookie jar, headers, protocol classes, proxies.
  ///
  /// Its cache and its time limits are not used: ``HTTPDeadlines`` are.
  public init(configuration: URLSessionConfiguration) {
    let configuration = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
    jar = configuration.httpShouldSetCookies ? configuration.httpCookieStorage : nil
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in configuration.httpAdditionalHeaders ?? [:] {
      fields[name] = value
    }
    additional = HTTPHeaders(fields)
    // URLSession would send them anywhere, and its own jar in place of a request's own header.
    configuration.httpAdditionalHeaders = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    #if canImport(FoundationNetworking)
      let queue: OperationQueue? = DelegateQueue()
    #else
      let queue: OperationQueue? = nil
    #endif
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
  }

  deinit { session.finishTasksAndInvalidate() }

  /// Ends the session: requests in flight go on, further ones are refused.
  public func invalidate() {
    let isIdle = state.withLock { state in
      guard !state.isInvalidated else { return false }
      state.isInvalidated = true
      return state.makers == 0
    }
    if isIdle { session.finishTasksAndInvalidate() }
  }

  /// Makes the task of a hop, which does nothing yet.
  func task(for request: OutgoingRequest, of exchange: Exchange, hop: Int) throws(HTTPError) -> URLSessionDataTask {
    let isOpen = state.withLock { state in
      if !state.isInvalidated { state.makers += 1 }
      return !state.isInvalidated
    }
    // One that is invalidated traps when it is asked for a task.
    guard isOpen else { throw .refused(reason: "the session has ended") }
    let task = session.dataTask(with: request.urlRequest(cookies: cookies(for: request)))
    delegate.add(task, of: exchange, hop: hop)
    let isLast = state.withLock { state in
      state.makers -= 1
      return state.isInvalidated && state.makers == 0
    }
    if isLast { session.finishTasksAndInvalidate() }
    return task
  }

  /// Cancels a task.
  func cancel(_ task: URLSessionTask) {
    delegate.forget(task)
    later { task.cancel() }
  }

  /// Calls something of URLSession for which it has to have time.
  ///
  /// On Linux all sessions of a process share one queue that most calls wait for, and which may be busy for long: while the
  /// name of a host is looked up for a task that is being cancelled, or while somebody's delegate does not return. Whoever
  /// waits for a request must not wait for that.
  func later(_ call: @escaping @Sendable () -> Void) {
    Self.calls.async(execute: call)
  }

  /// Sends a request and waits for its answer.
  nonisolated(nonsending) func exchange(
    _ request: OutgoingRequest,
    deadlines: HTTPDeadlines,
    sink: (any BodySink)? = nil
  ) async throws -> Exchange.Answer {
    var request = request
    request.headers = additional.merging(request.headers)
    return try await Exchange(request, in: self, deadlines: deadlines, sink: sink).answer()
  }

  nonisolated(nonsending) func response(
    to request: OutgoingRequest,
    deadlines: HTTPDeadlines
  ) async throws -> HTTPResponse {
    let (head, body, url) = try await exchange(request, deadlines: deadlines)
    return HTTPResponse(status: head.status, headers: head.headers, body: body, url: url)
  }

  /// The value of the header `Cookie` from the jar.
  private func cookies(for request: OutgoingRequest) -> String? {
    guard request.usesJar, let jar else { return nil }
    let cookies = (jar.cookies(for: request.url) ?? []).filter { $0.maySend(to: request.url, at: Date()) }
    return cookies.isEmpty ? nil : HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
  }

  /// Puts the cookies of an answer into the jar.
  func keepCookies(of head: ResponseHead, from url: URL) {
    guard let jar, let header = head.headers["Set-Cookie"] else { return }
    let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": header], for: url)
    jar.setCookies(cookies, for: url, mainDocumentURL: nil)
  }

  /// How many tasks of URLSession are on their way.
  var taskCount: Int { delegate.count }
}

extension HTTPSession: CustomReflectable {
  /// Shows nothing of what is inside, which changes while it is looked at.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
