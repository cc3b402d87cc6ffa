// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A small HTTP/1.1 server on 127.0.0.1, for showing and testing what a client does with good and bad replies.
///
/// It accepts connections on a thread of its own and serves each on another one, so that a handler may block. Letting
/// the server go stops it.
package final class LoopbackServer: Sendable {
  /// Makes the reply to a request; called on the connection's thread.
  package typealias Handler = @Sendable (Request) -> Reply

  /// The port that the system chose.
  package let port: UInt16

  private let core: Core

  /// Starts a server that answers every request with one handler.
  ///
  /// - Throws: `SocketError` when the system gives no socket or port.
  package init(_ handler: @escaping Handler) throws(SocketError) {
    let listener = try Socket.listening()
    let port: UInt16
    let core: Core
    do {
      port = try listener.localPort()
      core = Core(listener: listener, stopSignal: try StopSignal(), handler: handler)
    } catch {
      listener.close()
      throw error
    }
    self.port = port
    self.core = core
    Thread.detachNewThread { core.acceptConnections() }
  }

  /// Starts a server with a handler for each path, such as `"/cat.bmp"`; any other path gets a 404.
  ///
  /// - Throws: `SocketError` when the system gives no socket or port.
  package convenience init(routes: [String: Handler]) throws(SocketError) {
    try self.init { request in routes[request.path]?(request) ?? .notFound }
  }

  deinit {
    core.stop()
  }

  /// The address of the server's root, without a slash at the end.
  package var address: String { "http://127.0.0.1:\(port)" }

  /// The number of requests that arrived whole so far.
  package var requestCount: Int { core.requestCount }

  /// The number of requests that arrived whole so far for one path.
  package func requestCount(for path: String) -> Int {
    core.requestCount(for: path)
  }

  /// The number of connections that are open now.
  package var connectionCount: Int { core.connectionCount }

  /// Has this process reach the server directly, also where the environment names a proxy for everything else.
  ///
  /// To be called before other threads look at the environment. On Linux nothing else keeps URLSession from the proxy.
  package static func bypassProxy() {
    let environment = ProcessInfo.processInfo.environment
    let others = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
    guard others != "*" else { return }
    setenv("no_proxy", others.isEmpty ? "127.0.0.1" : "\(others),127.0.0.1", 1)
  }

  /// Closes the port and every connection, and ends every pause; a further call does nothing.
  ///
  /// It does not wait for handlers that are running; what they return is not sent.
  package func stop() {
    core.stop()
  }
}
