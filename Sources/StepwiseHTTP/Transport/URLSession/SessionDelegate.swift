// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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

  /// The number of running tasks.
  var count: Int { transfers.withLock { $0.count } }

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
    transfer(of: task)?.request.onSend?(totalBytesSent)
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
