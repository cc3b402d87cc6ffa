// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// A small HTTP/1.1 server on 127.0.0.1, for pages for the user of this machine, and for demonstrating and testing how a
/// client handles good and bad responses.
///
/// It accepts connections on its own thread and serves each on another one, so a handler may block. Releasing the
/// server stops it.
package final class LoopbackServer: Sendable {
  /// Returns the reply to a request; called on the connection's thread.
  package typealias Handler = @Sendable (Request) -> Reply

  /// The port.
  package let port: UInt16

  private let core: Core

  /// Starts a server that answers every request with one handler.
  ///
  /// - Parameters:
  ///   - port: The port; 0 for one that the system assigns.
  ///   - maximumBodySize: The limit for the body of a request, in bytes.
  ///   - idleLimit: How long a connection may wait for its client before it is closed; nil for no limit.
  ///   - handler: The handler.
  /// - Throws: `SocketError` when the system provides no socket or port.
  package init(
    port: UInt16 = 0,
    maximumBodySize: Int = 256 * 1024 * 1024,
    idleLimit: Duration? = nil,
    _ handler: @escaping Handler
  ) throws(SocketError) {
    let listener = try Socket.listening(on: port)
    do {
      self.port = try listener.localPort()
      core = Core(listener, try StopSignal(), maximumBodySize: maximumBodySize, idleLimit: idleLimit, handler)
    } catch {
      listener.close()
      throw error
    }
    Thread.detachNewThread { [core] in core.acceptConnections() }
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
  package var requestCount: Int { core.state.withLock { $0.requestCounts.values.reduce(0, +) } }

  /// The number of complete requests so far for one path.
  package func requestCount(for path: String) -> Int { core.state.withLock { $0.requestCounts[path] ?? 0 } }

  /// The number of connections that are open now.
  package var connectionCount: Int { core.state.withLock { $0.connections.count } }

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

extension LoopbackServer {
  /// The state that the threads of a server share.
  ///
  /// They retain it instead of the server.
  final class Core: Sendable {
    fileprivate struct State {
      /// Nil once the server is stopped.
      var listener: Socket?
      var connections: Set<Socket> = []
      var requestCounts: [String: Int] = [:]
    }

    let handler: Handler
    let stopSignal: StopSignal
    let maximumBodySize: Int
    private let idleLimit: Duration?
    fileprivate let state: Lock<State>

    init(
      _ listener: Socket,
      _ stopSignal: StopSignal,
      maximumBodySize: Int,
      idleLimit: Duration?,
      _ handler: @escaping Handler
    ) {
      self.handler = handler
      self.stopSignal = stopSignal
      self.maximumBodySize = maximumBodySize
      self.idleLimit = idleLimit
      state = Lock(State(listener: listener))
    }

    /// Accepts connections until the server is stopped.
    func acceptConnections() {
      while let listener = state.withLock({ state in state.listener }) {
        guard stopSignal.waitUntilReadable(listener) else { return }
        // Inside the lock, and without blocking, because `stop` closes the descriptor, whose number may be reused.
        let accepted: Socket? = state.withLock { state in
          guard let connection = state.listener?.accept() else { return nil }
          state.connections.insert(connection)
          return connection
        }
        guard let connection = accepted else {
          // The client has disconnected, or the process has no descriptors left; the latter needs time.
          _ = stopSignal.pause(for: .milliseconds(1), watching: nil)
          continue
        }
        Thread.detachNewThread { self.serve(connection) }
      }
    }

    private func serve(_ socket: Socket) {
      if let idleLimit { socket.limitWaits(to: idleLimit) }
      var connection = Connection(socket: socket, core: self)
      connection.serve()
      state.withLock { state in
        state.connections.remove(socket)
        socket.close()
      }
    }

    func stop() {
      let wasRunning = state.withLock { state in
        guard let listener = state.listener else { return false }
        state.listener = nil
        listener.shutDown()  // or else the port answers for as long as the other thread's poll holds it
        listener.close()
        // Their threads close them, and until then the numbers stay in use.
        for connection in state.connections { connection.shutDown() }
        return true
      }
      if wasRunning { stopSignal.send() }
    }
  }
}

extension LoopbackServer {
  /// One client's connection: reads requests and sends replies, one after the other, on one thread.
  struct Connection {
    let socket: Socket
    let core: Core
    /// The bytes that were received and not yet used.
    var buffer: [UInt8] = []

    /// Serves until the client closes, the server stops, or a reply ends the connection.
    mutating func serve() {
      while true {
        do throws(Failure) {
          guard let request = try next() else { return }
          core.state.withLock { $0.requestCounts[request.path, default: 0] += 1 }
          let reply = core.handler(request)
          guard send(reply, to: request), request.keepsConnection else { return }
        } catch {
          _ = socket.send(Reply(status: error.rawValue).head(bodyLength: 0, keepsConnection: false)[...])
          socket.finishSending()
          return
        }
      }
    }

    /// Sends a reply; returns whether the connection can take another request.
    private func send(_ reply: Reply, to request: Request) -> Bool {
      let isWhole = send(parts: reply, to: request)
      reply.onEnd?(isWhole)
      guard isWhole, reply.keepsConnection else {
        if reply.resets { socket.resetOnClose() } else { socket.finishSending() }
        return false
      }
      return true
    }

    /// Sends head and body; returns whether the client received everything.
    private func send(parts reply: Reply, to request: Request) -> Bool {
      if reply.headPause > .zero, !core.stopSignal.pause(for: reply.headPause, watching: socket) { return false }
      guard !reply.isSilent else { return true }
      let keepsConnection = request.keepsConnection && reply.keepsConnection
      let head = reply.head(bodyLength: reply.body.count * reply.repeats, keepsConnection: keepsConnection)
      let body = request.method == "HEAD" ? [] : reply.body.prefix(max(0, reply.closesAfter ?? reply.body.count))
      guard socket.send(head[...]) else { return false }

      for _ in 0..<(body.isEmpty ? 0 : reply.repeats) {
        guard send(body[...], of: reply) else { return false }
      }
      return reply.endPause == .zero || core.stopSignal.pause(for: reply.endPause, watching: socket)
    }

    private func send(_ body: ArraySlice<UInt8>, of reply: Reply) -> Bool {
      var rest = body
      while !rest.isEmpty {
        if reply.pause > .zero, !core.stopSignal.pause(for: reply.pause, watching: socket) { return false }
        let chunk = rest.prefix(max(1, reply.chunkSize ?? rest.count))
        guard socket.send(chunk) else { return false }
        rest = rest.dropFirst(chunk.count)
      }
      return true
    }
  }
}
