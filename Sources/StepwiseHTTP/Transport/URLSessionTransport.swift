// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise
import StepwiseFiles

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A transport on URLSession, the transport of Apple's platforms.
///
/// Where it differs from libcurl, the transport of Linux:
/// - Header lines with the same name arrive as one, joined by commas: URLSession has a dictionary. `Set-Cookie` is divided
///   where a name follows a comma, so a value with `, name=` in it becomes two cookies.
/// - A sequence or a form is written to a temporary file before it is sent, so it is sent with a length: URLSession has
///   no streams for bodies on Linux.
///
/// On Linux, where it is used for a configuration with protocol classes or proxies, also:
/// - There are no trust settings and no client certificate.
/// - A 401 that requests Basic authentication waits until a deadline passes.
/// - A file is copied to a temporary file before it is sent: URLSession would send more than the announced length of one
///   that grows.
/// - A path with `..` is resolved before it is sent, and IPv6 literals cannot be reached.
/// - A redirect without a location has no body. Header lines that end without a carriage return, and values in Latin-1,
///   are errors.
/// - A consumer that does not read does not stop the network, so memory grows.
/// - A server that closes within its headers, and a body with a trailer, end the process (swift-corelibs-foundation
///   #5285).
public final class URLSessionTransport: HTTPTransport {
  private static let calls = DispatchQueue(label: "StepwiseHTTP.calls")

  private let session: URLSession
  private let delegate: SessionDelegate
  private let isInvalidated = Lock(false)
  /// The error of every transfer, because its settings cannot be used.
  private let refusal: HTTPError?

  /// Creates a transport with URLSession's settings: connections per host, protocol classes, proxies.
  ///
  /// Its cookies, cache, header fields and time limits are not used.
  public convenience init(configuration: URLSessionConfiguration) {
    self.init(configuration, SessionDelegate(), refusal: nil)
  }

  #if canImport(Darwin)
    /// Creates a transport with other connections per host, trust settings or proxy than the system's.
    public convenience init(
      connectionsPerHost: Int = 16,
      tls: HTTPTLSSettings = HTTPTLSSettings(),
      proxy: HTTPProxy = .system
    ) {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = min(max(1, connectionsPerHost), 65_536)
      if let dictionary = proxy.connectionProxyDictionary { configuration.connectionProxyDictionary = dictionary }
      var (trust, refusal): (SessionTrust?, HTTPError?)
      do { trust = try SessionTrust(tls, proxy) } catch { refusal = error }
      self.init(configuration, SessionDelegate(trust), refusal: refusal)
    }
  #endif

  private init(_ configuration: URLSessionConfiguration, _ delegate: SessionDelegate, refusal: HTTPError?) {
    let configuration = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
    // URLSession would send them to any server, and its own jar in place of a request's own header.
    configuration.httpAdditionalHeaders = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    self.delegate = delegate
    self.refusal = refusal
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
  }

  deinit { invalidate() }

  /// Creates the transfer of one request.
  public func transfer(_ request: HTTPRequest) -> any HTTPTransfer { URLSessionTransfer(request, in: self) }

  /// Ends the session: requests in flight continue, further ones are refused.
  public func invalidate() {
    guard !isInvalidated.withLock({ exchange(&$0, with: true) }) else { return }
    Self.later { [session] in session.finishTasksAndInvalidate() }
  }

  /// Creates the task of a transfer, which has not started.
  fileprivate func task(for transfer: URLSessionTransfer) throws(HTTPError) -> URLSessionTask {
    // An invalidated session traps when a task is created.
    if isInvalidated.withLock({ $0 }) { throw .refused(reason: "the session has ended") }
    if let refusal { throw refusal }
    let request = transfer.request
    let task: URLSessionTask
    switch request.body?.content {
    case .none, .bytes: task = session.dataTask(with: URLRequest(request))
    case .file(let file) where transfer.spooled == nil:
      _ = try UploadFile.open(file)
      task = session.uploadTask(with: URLRequest(request), fromFile: file)
    case .file, .chunks: task = session.uploadTask(with: URLRequest(request), fromFile: transfer.spool)
    }
    delegate[task] = transfer
    return task
  }

  /// Cancels the task of a transfer, if it has one.
  fileprivate func cancel(_ transfer: URLSessionTransfer) {
    Self.later { [delegate] in
      guard let task = transfer.task.withLock({ $0 }) else { return }
      delegate[task] = nil
      task.cancel()
    }
  }

  /// Makes a call that URLSession may block, after the earlier ones.
  ///
  /// On Linux all sessions of a process share one queue that most calls wait for. It may be busy for long: while the
  /// name of a host is resolved for a task that is being cancelled, or while another delegate does not return. A
  /// consumer that waits for a response must not wait for that.
  ///
  /// In order, because URLSession on Linux may crash when a task is cancelled while it is resumed, or before its
  /// delegate's answer.
  fileprivate static func later(_ call: @escaping @Sendable () -> Void) { calls.async(execute: call) }
}

extension URLRequest {
  /// Creates URLSession's request, with a time limit that never takes effect.
  init(_ request: HTTPRequest) {
    self.init(url: request.url)
    httpMethod = request.method
    timeoutInterval = 30 * 24 * 3600
    cachePolicy = .reloadIgnoringLocalCacheData
    httpShouldHandleCookies = false
    if case .bytes(let data) = request.body?.content { httpBody = data }
    for field in request.headers.fields { addValue(field.value, forHTTPHeaderField: field.name) }
  }
}

/// Forwards what URLSession reports to the transfer of the task.
private final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let transfers = Lock<[Int: URLSessionTransfer]>([:])
  #if canImport(Darwin)
    private let trust: SessionTrust?

    init(_ trust: SessionTrust? = nil) { self.trust = trust }

    /// The challenges about a server's and the client's certificates arrive here, too: there is no method for sessions.
    func urlSession(
      _ session: URLSession,
      task: URLSessionTask,
      didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      do {
        let credential = try trust?.credential(for: challenge)
        completionHandler(credential == nil ? .performDefaultHandling : .useCredential, credential)
      } catch {
        // URLSession reports only that the task was cancelled.
        self[task]?.complete(error)
        completionHandler(.cancelAuthenticationChallenge, nil)
      }
    }
  #endif

  /// The transfer of a task; nil when what follows is ignored.
  subscript(task: URLSessionTask) -> URLSessionTransfer? {
    get { transfers.withLock { $0[task.taskIdentifier] } }
    // The previous one is released outside of the lock.
    set { _ = transfers.withLock { exchange(&$0[task.taskIdentifier], with: newValue) } }
  }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // URLSession would forward credentials and forget bodies, so the redirect is returned as the response.
    receive(response, of: task)
    reply(to: task) { completionHandler(nil) }
  }

  func urlSession(
    _ session: URLSession,
    dataTask: URLSessionDataTask,
    didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    receive(response, of: dataTask)
    reply(to: dataTask) { completionHandler(.allow) }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    self[dataTask]?.receive(data)
  }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    self[task]?.request.onBytesSent?(totalBytesSent)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // On Linux a redirect without a location is reported only here.
    if error == nil { receive(task.response, of: task) }
    let transfer = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    transfer?.complete(error.map(HTTPError.init))
  }

  /// Answers a question of URLSession; on Linux a task that was cancelled does not wait for an answer.
  private func reply(to task: URLSessionTask, _ answer: @escaping @Sendable () -> Void) {
    URLSessionTransport.later { [self] in
      #if canImport(FoundationNetworking)
        guard self[task] != nil else { return }
      #endif
      answer()
    }
  }

  private func receive(_ response: URLResponse?, of task: URLSessionTask) {
    if let head = HTTPResponseHead(response) { self[task]?.receive(head) }
  }
}

/// One task of a URLSession.
private final class URLSessionTransfer: HTTPTransfer {
  let request: HTTPRequest
  /// The temporary file for a body of pieces: URLSession on Linux has no streams to write to.
  let spool = FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-body-\(UUID().uuidString)")
  let task = Lock<URLSessionTask?>(nil)
  private let transport: URLSessionTransport
  private let inbox = Inbox(capacity: 1 << 20)

  init(_ request: HTTPRequest, in transport: URLSessionTransport) {
    self.request = request
    self.transport = transport
  }

  deinit { if spooled != nil { try? FileManager.default.removeItem(at: spool) } }

  /// The body that is written to the temporary file before it is sent; nil for any other.
  var spooled: (length: Int64?, open: @Sendable () throws -> HTTPBody.Source)? {
    switch request.body?.content {
    case .chunks(let length, let open): return (length, open)
    #if canImport(FoundationNetworking)
      case .file(let file):
        let open: @Sendable () -> HTTPBody.Source = {
          let source = MultipartSource([.file(file, length: nil)])
          return { try await source.next() }
        }
        return (nil, open)
    #endif
    default: return nil
    }
  }

  func head() async throws -> HTTPResponseHead {
    if !inbox.isEnded {
      if let (length, open) = spooled {
        do { try await write(open, length: length) } catch { fail(error) }
      }
      URLSessionTransport.later { self.begin() }
    }
    return try await inbox.head()
  }

  func chunk() async throws -> Data? {
    try await inbox.chunk {
      // On Linux, suspending a task corrupts the body.
      #if canImport(Darwin)
        task.withLock { $0 }?.resume()
      #endif
    }
  }

  func cancel() { if inbox.update({ $0.cancel() }) { transport.cancel(self) } }

  /// Ends the transfer with an error, and its task.
  private func fail(_ error: any Error) {
    complete(HTTPError(error))
    transport.cancel(self)
  }

  private func begin() {
    guard !inbox.isEnded else { return }
    do {
      let new = try transport.task(for: self)
      task.withLock { $0 = new }
      new.resume()
    } catch {
      complete(error)
    }
  }

  func receive(_ head: HTTPResponseHead) {
    let size = head.headers.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    guard size <= request.headerLimit else { return fail(HTTPError.headersTooLarge(limit: request.headerLimit)) }
    inbox.update { $0.receive(head) }
  }

  func receive(_ data: Data) {
    inbox.update { $0.receive(data) }
    #if canImport(Darwin)
      guard inbox.isHeld else { return }
      let task = task.withLock { $0 }
      task?.suspend()
      // The consumer may have taken the bytes in between, when there was nothing to resume.
      if !inbox.isHeld { task?.resume() }
    #endif
  }

  func complete(_ error: (any Error)?) { inbox.update { $0.complete(error) } }

  /// Writes the pieces of the body to the file, in constant memory, to the end or until the transfer has ended.
  ///
  /// - Throws: What the source throws; ``HTTPError`` when the length is another, or the file cannot be written.
  private func write(_ open: @Sendable () throws -> HTTPBody.Source, length: Int64?) async throws {
    let source = try open()
    let file = try FileLocation(spool.path).open(O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    var count: Int64 = 0
    while !inbox.isEnded, let piece = try await source() {
      try file.write(piece, at: Int(count))
      count += Int64(piece.count)
    }
    guard let length, !inbox.isEnded else { return }
    guard length <= count else { throw HTTPError.refused(reason: "the body is shorter than announced") }
    try file.truncate(to: Int(length))
  }
}

extension HTTPResponseHead {
  /// Nil for a response that is not HTTP, or that only announces another one.
  fileprivate init?(_ response: URLResponse?) {
    guard let response = response as? HTTPURLResponse, response.statusCode >= 200 || response.statusCode == 101 else {
      return nil
    }
    var headers = HTTPHeaders(response.allHeaderFields as? [String: String] ?? [:])
    let cookies = headers.values("Set-Cookie").flatMap(HTTPCookie.separated)
    headers["Set-Cookie"] = nil
    for cookie in cookies { headers.add("Set-Cookie", cookie) }
    self.init(status: response.statusCode, headers: headers)
  }
}
