// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A small HTTP/1.1 server on 127.0.0.1, for demonstrating and testing how a client handles good and bad responses.
///
/// It accepts connections on its own thread and serves each on another one, so a handler may block. Releasing the
/// server stops it.
package final class LoopbackServer: Sendable {
  /// Returns the reply to a request; called on the connection's thread.
  package typealias Handler = @Sendable (Request) -> Reply

  /// The port that the system assigned.
  package let port: UInt16

  private let core: Core

  /// Starts a server that answers every request with one handler.
  ///
  /// - Throws: `SocketError` when the system provides no socket or port.
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
  /// - Throws: `SocketError` when the system provides no socket or port.
  package convenience init(routes: [String: Handler]) throws(SocketError) {
    try self.init { request in routes[request.path]?(request) ?? .notFound }
  }

  deinit {
    core.stop()
  }

  /// The URL of the server's root, without a trailing slash.
  package var address: String { "http://127.0.0.1:\(port)" }

  /// The number of complete requests so far.
  package var requestCount: Int { core.requestCount }

  /// The number of complete requests so far for one path.
  package func requestCount(for path: String) -> Int {
    core.requestCount(for: path)
  }

  /// The number of connections that are open now.
  package var connectionCount: Int { core.connectionCount }

  /// Makes this process connect to the server directly, even if the environment configures a proxy.
  ///
  /// Call it before other threads read the environment. On Linux, URLSession uses the proxy otherwise.
  package static func bypassProxy() {
    let environment = ProcessInfo.processInfo.environment
    let others = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
    guard others != "*" else { return }
    setenv("no_proxy", others.isEmpty ? "127.0.0.1" : "\(others),127.0.0.1", 1)
  }

  /// Closes the port and every connection, and ends every pause; calling it again has no effect.
  ///
  /// It does not wait for running handlers; their replies are not sent.
  package func stop() {
    core.stop()
  }
}
