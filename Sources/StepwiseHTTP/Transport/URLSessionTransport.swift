// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise
import Synchronization

#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A transport on URLSession, the transport of Apple's platforms.
///
/// Where it differs from libcurl, the transport of Linux:
/// - Header lines with the same name arrive as one, joined by commas: URLSession has a dictionary.
/// - A sequence or a form is written to a temporary file before it is sent, so it is sent with a length: URLSession has
///   no streams for bodies on Linux.
///
/// On Linux, where it is used for a configuration with protocol classes or proxies, also:
/// - Trust settings, a client certificate and a proxy are refused with an error that names them.
/// - A 401 that requests Basic authentication waits until a deadline passes.
/// - A path with `..` is resolved before it is sent, and IPv6 literals cannot be reached.
/// - A redirect without a location has no body. Header lines that end without a carriage return, and values in Latin-1,
///   are errors.
/// - A consumer that does not read stops the network only briefly, so memory grows.
/// - A server that closes within its headers, and a body with a trailer, end the process (swift-corelibs-foundation
///   #5285).
public final class URLSessionTransport: HTTPTransport {
  private struct State {
    var isInvalidated = false
    /// The number of threads that are creating a task, during which URLSession must not be invalidated.
    var makers = 0
  }

  private static let calls = DispatchQueue(label: "StepwiseHTTP.calls")

  private let session: URLSession
  private let delegate: SessionDelegate
  private let state = Lock(State())
  /// The error of every transfer, because its settings cannot be used.
  private let refusal: HTTPError?

  /// Creates a transport with URLSession's settings: connections per host, protocol classes, proxies.
  ///
  /// Its cookies, cache, header fields and time limits are not used.
  public convenience init(configuration: URLSessionConfiguration) {
    self.init(configuration: configuration, tls: HTTPTLSSettings(), proxy: .system)
  }

  private init(configuration: URLSessionConfiguration, tls: HTTPTLSSettings, proxy: HTTPProxy) {
    let configuration = configuration.copy() as? URLSessionConfiguration ?? .ephemeral
    // URLSession would send them to any server, and its own jar in place of a request's own header.
    configuration.httpAdditionalHeaders = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.urlCache = nil
    #if canImport(FoundationNetworking)
      let queue: OperationQueue? = DelegateQueue()
      delegate = SessionDelegate()
      refusal = Self.refusal(tls, proxy)
    #else
      let queue: OperationQueue? = nil
      if let dictionary = proxy.connectionProxyDictionary { configuration.connectionProxyDictionary = dictionary }
      do {
        delegate = SessionDelegate(try SessionTrust(tls, proxy))
        refusal = nil
      } catch {
        delegate = SessionDelegate(nil)
        refusal = error
      }
    #endif
    session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
  }

  /// Creates a transport; on Linux every transfer is refused with other trust settings or another proxy than the system's.
  public convenience init(
    connectionsPerHost: Int = 16,
    tls: HTTPTLSSettings = HTTPTLSSettings(),
    proxy: HTTPProxy = .system
  ) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = min(max(1, connectionsPerHost), 65_536)
    self.init(configuration: configuration, tls: tls, proxy: proxy)
  }

  deinit { session.finishTasksAndInvalidate() }

  /// Creates the transfer of one request.
  public func transfer(_ request: HTTPRequest) -> any HTTPTransfer { URLSessionTransfer(request, in: self) }

  /// Ends the session: requests in flight continue, further ones are refused.
  public func invalidate() {
    let isIdle = state.withLock { state in
      guard !state.isInvalidated else { return false }
      state.isInvalidated = true
      return state.makers == 0
    }
    if isIdle { session.finishTasksAndInvalidate() }
  }

  /// Creates the task of a transfer, which has not started.
  func task(for transfer: URLSessionTransfer, spool: URL?) throws(HTTPError) -> URLSessionTask {
    let isOpen = state.withLock { state in
      if !state.isInvalidated { state.makers += 1 }
      return !state.isInvalidated
    }
    // An invalidated session traps when a task is created.
    guard isOpen else { throw .refused(reason: "the session has ended") }
    defer { endMaking() }
    if let refusal { throw refusal }
    let request = transfer.request
    let task: URLSessionTask
    switch request.body?.content {
    case .none, .bytes: task = session.dataTask(with: URLRequest(request))
    case .file(let file):
      // URLSession on Linux does not end when it is a directory.
      _ = try UploadFile.open(file)
      task = session.uploadTask(with: URLRequest(request), fromFile: file)
    case .chunks: task = session.uploadTask(with: URLRequest(request), fromFile: spool ?? URL(filePath: "/dev/null"))
    }
    delegate.add(task, of: transfer)
    return task
  }

  private func endMaking() {
    let isLast = state.withLock { state in
      state.makers -= 1
      return state.isInvalidated && state.makers == 0
    }
    if isLast { session.finishTasksAndInvalidate() }
  }

  #if canImport(FoundationNetworking)
    /// Returns the error that names the settings that URLSession on Linux cannot use, because ignoring them is unsafe.
    private static func refusal(_ tls: HTTPTLSSettings, _ proxy: HTTPProxy) -> HTTPError? {
      var names: [String] = []
      if tls.certificateAuthorities != nil { names.append("`certificateAuthorities`") }
      if !tls.pinnedPublicKeys.isEmpty { names.append("`pinnedPublicKeys`") }
      if tls.clientCertificate != nil { names.append("`clientCertificate`") }
      switch proxy.kind {
      case .system: break
      case .none, .server: names.append("`proxy`")
      }
      guard !names.isEmpty else { return nil }
      let reason = "URLSession on Linux does not support \(names.joined(separator: ", ")); install libcurl"
      return .refused(reason: reason)
    }
  #endif

  /// Cancels a task.
  func cancel(_ task: URLSessionTask) {
    delegate.forget(task)
    Self.later { task.cancel() }
  }

  /// Makes a call that URLSession may block.
  ///
  /// On Linux all sessions of a process share one queue that most calls wait for. It may be busy for long: while the
  /// name of a host is resolved for a task that is being cancelled, or while another delegate does not return. A
  /// consumer that waits for a response must not wait for that.
  static func later(_ call: @escaping @Sendable () -> Void) { calls.async(execute: call) }

  /// Returns the URL of a temporary file for a body.
  static func spoolFile() -> URL {
    FileManager.default.temporaryDirectory.appendingPathComponent("stepwise-body-\(UUID().uuidString)")
  }
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
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private let transfers = Lock<[Int: URLSessionTransfer]>([:])
  #if canImport(Darwin)
    private let trust: SessionTrust?

    init(_ trust: SessionTrust?) { self.trust = trust }

    /// The challenges about a server's and the client's certificates arrive here, too: there is no method for sessions.
    func urlSession(
      _ session: URLSession,
      task: URLSessionTask,
      didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      switch trust?.answer(challenge) ?? .standard {
      case .standard: completionHandler(.performDefaultHandling, nil)
      case .credential(let credential): completionHandler(.useCredential, credential)
      case .refuse(let failure):
        // URLSession reports only that the task was cancelled.
        transfer(of: task)?.complete(HTTPError.tls(failure))
        completionHandler(.cancelAuthenticationChallenge, nil)
      }
    }
  #endif

  func add(_ task: URLSessionTask, of transfer: URLSessionTransfer) {
    transfers.withLock { $0[task.taskIdentifier] = transfer }
  }

  /// Ignores what follows.
  func forget(_ task: URLSessionTask) {
    _ = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
  }

  private func transfer(of task: URLSessionTask) -> URLSessionTransfer? {
    transfers.withLock { $0[task.taskIdentifier] }
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
    transfer(of: dataTask)?.receive(data)
  }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    transfer(of: task)?.request.onBytesSent?(totalBytesSent)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // On Linux a redirect without a location is reported only here.
    if error == nil { receive(task.response, of: task) }
    let transfer = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    transfer?.complete(error.map(TransferFailure.error))
  }

  /// Answers a question of URLSession, unless the task was cancelled and does not wait for an answer.
  private func reply(to task: URLSessionTask, _ answer: () -> Void) {
    let isDone = transfer(of: task)?.uninterrupted(answer) ?? false
    #if !canImport(FoundationNetworking)
      // On Apple's platforms it waits for every answer.
      if !isDone { answer() }
    #else
      _ = isDone
    #endif
  }

  private func receive(_ response: URLResponse?, of task: URLSessionTask) {
    guard let head = HTTPResponseHead(response) else { return }
    transfer(of: task)?.receive(head)
  }
}

#if canImport(FoundationNetworking)
  import Dispatch
  import Foundation
  import Synchronization

  /// The queue on which URLSession calls its delegate.
  ///
  /// On Linux, URLSession reads from the network as fast as it can, and what the delegate has not handled stays in
  /// memory, up to the whole body. This queue waits as soon as there is much of it, so that the sender has to wait as
  /// well.
  ///
  /// It blocks the one queue that all sessions of the process share, so it does not wait for long: a slow delegate
  /// slows others down, and one that does not return, perhaps because it waits for one of them, does not stop them.
  final class DelegateQueue: OperationQueue, @unchecked Sendable {  // Safety: what it adds is Sendable.
    /// The maximum number of waiting calls; a piece of a body has up to 16 KiB.
    private static let limit = 64
    /// How long to wait for each of them; a disk takes far less.
    private static let patience = DispatchTimeInterval.milliseconds(50)
    /// How long to wait after a wait that was in vain: URLSession may have up to a hundred pieces in a row.
    private static let impatience = DispatchTimeInterval.milliseconds(1)

    private let queue = DispatchQueue(label: "StepwiseHTTP.delegate")
    private let slots = DispatchSemaphore(value: limit)
    /// Whether the delegate has not handled a call for a while.
    private let isStuck = Atomic(false)

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      let isPatient = !isStuck.load(ordering: .relaxed)
      let hasSlot = slots.wait(timeout: .now() + (isPatient ? Self.patience : Self.impatience)) == .success
      isStuck.store(!hasSlot, ordering: .relaxed)
      queue.async { [slots] in
        block()
        if hasSlot { slots.signal() }
      }
    }
  }
#endif
