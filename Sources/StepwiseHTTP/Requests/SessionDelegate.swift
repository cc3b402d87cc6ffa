// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Hands what URLSession tells to the exchange that it is about.
final class SessionDelegate: NSObject, URLSessionDataDelegate, Sendable {
  private struct Place {
    let exchange: Exchange
    let hop: Int
  }

  private let places = Lock<[Int: Place]>([:])

  func add(_ task: URLSessionTask, of exchange: Exchange, hop: Int) {
    let place = Place(exchange: exchange, hop: hop)
    places.withLock { $0[task.taskIdentifier] = place }
  }

  /// What follows is of interest to nobody.
  func forget(_ task: URLSessionTask) {
    _ = places.withLock { $0.removeValue(forKey: task.taskIdentifier) }
  }

  private func place(of task: URLSessionTask) -> Place? {
    places.withLock { $0[task.taskIdentifier] }
  }

  /// How many tasks are on their way.
  var count: Int { places.withLock { $0.count } }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    // What URLSession would send forwards credentials and forgets bodies: the answer is taken as it is.
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
    guard let place = place(of: dataTask) else { return }
    place.exchange.receive(data, hop: place.hop)
  }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    guard let place = place(of: task) else { return }
    place.exchange.sent(hop: place.hop)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    // On Linux a redirect without an address is told to nobody before.
    if error == nil { receive(task.response, of: task) }
    guard let place = places.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
    place.exchange.complete(hop: place.hop, error: error)
  }

  /// Answers what URLSession asks, unless the task was cancelled: then nobody waits for the answer.
  private func reply(to task: URLSessionTask, _ answer: () -> Void) {
    let place = place(of: task)
    let isDone = place?.exchange.uninterrupted(hop: place?.hop ?? 0, answer) ?? false
    #if !canImport(FoundationNetworking)
      // Apple's waits for every answer.
      if !isDone { answer() }
    #else
      _ = isDone
    #endif
  }

  private func receive(_ response: URLResponse?, of task: URLSessionTask) {
    guard let place = place(of: task), let head = ResponseHead(response) else { return }
    place.exchange.receive(head, hop: place.hop)
  }
}
