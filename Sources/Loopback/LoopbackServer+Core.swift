// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

extension LoopbackServer {
  /// The state that the threads of a server share.
  ///
  /// They retain it instead of the server.
  final class Core: Sendable {
    private struct State {
      /// Nil once the server is stopped.
      var listener: Socket?
      var connections: Set<Socket> = []
      var requestCounts: [String: Int] = [:]
    }

    let handler: Handler
    let stopSignal: StopSignal
    private let state: Lock<State>

    init(listener: Socket, stopSignal: StopSignal, handler: @escaping Handler) {
      self.handler = handler
      self.stopSignal = stopSignal
      state = Lock(State(listener: listener))
    }

    var requestCount: Int {
      state.withLock { state in state.requestCounts.values.reduce(0, +) }
    }

    func requestCount(for path: String) -> Int {
      state.withLock { state in state.requestCounts[path] ?? 0 }
    }

    var connectionCount: Int {
      state.withLock { state in state.connections.count }
    }

    func countRequest(for path: String) {
      state.withLock { state in state.requestCounts[path, default: 0] += 1 }
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

    private func serve(_ connection: Socket) {
      Connection(socket: connection, core: self).serve()
      state.withLock { state in
        state.connections.remove(connection)
        connection.close()
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
