// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension LoopbackServer {
  /// One client's connection: reads requests and sends replies, one after the other, on one thread.
  struct Connection {
    let socket: Socket
    let core: Core

    /// Serves until the client closes, the server stops, or a reply ends the connection.
    func serve() {
      var reader = RequestReader(socket: socket)
      while true {
        do throws(RequestReader.Failure) {
          guard let request = try reader.next() else { return }
          core.countRequest(for: request.path)
          let reply = core.handler(request)
          guard send(reply, to: request), request.keepsConnection else { return }
        } catch {
          _ = socket.send(Reply(status: error.status).head(bodyLength: 0, keepsConnection: false)[...])
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
