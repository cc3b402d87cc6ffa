// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension LoopbackServer {
  /// The response of a server: a status, headers and a body, and how well or badly it behaves while sending them.
  package struct Reply: Sendable {
    /// The value of the header `Content-Length`.
    package enum Length: Sendable, Equatable {
      /// The length of the body.
      case actual
      /// Another length, larger or smaller.
      case claimed(Int)
      /// None: the end of the connection ends the body.
      case absent
    }

    package var status: Int
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The maximum number of bytes of the body sent at once; nil for no limit.
    package var chunkSize: Int?
    /// How long to wait before each chunk.
    package var pause: Duration = .zero
    /// The number of bytes of the body after which the connection is closed; nil is all of them.
    package var closesAfter: Int?
    /// Whether the server resets the connection instead of closing it properly.
    package var resets = false
    /// Whether nothing is sent, not even a head.
    package var isSilent = false
    package var length: Length = .actual
    /// How long to wait before anything is sent.
    package var headPause: Duration = .zero
    /// How long to wait after the body before anything else.
    package var endPause: Duration = .zero
    /// How many times the body is sent, one after the other, as one body.
    package var repeats = 1
    /// Called after the reply with true, or with false when the client or `stop` cut it short.
    package var onEnd: (@Sendable (Bool) -> Void)?

    package init(status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    /// A reply of status 200 with a body.
    package static func ok(_ body: [UInt8], contentType: String = "application/octet-stream") -> Reply {
      Reply(headers: [("Content-Type", contentType)], body: body)
    }

    /// A reply with a line of plain text.
    package static func text(_ text: String, status: Int = 200) -> Reply {
      Reply(status: status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// A reply that redirects the client to another URL.
    package static func redirect(to location: String, status: Int = 302) -> Reply {
      Reply(status: status, headers: [("Location", location)])
    }

    /// The reply for an unknown path.
    package static let notFound = Reply.text("not found\n", status: 404)

    /// No reply: the connection is closed.
    package static let silent = Reply().changed { $0.isSilent = true }

    /// The same reply, its body sent in chunks with a pause before each.
    package func slowly(chunkSize: Int, pause: Duration) -> Reply {
      changed { ($0.chunkSize, $0.pause) = (chunkSize, pause) }
    }

    /// The same reply, sent after a pause.
    package func pausing(_ pause: Duration) -> Reply { changed { $0.headPause = pause } }

    /// The same reply, whose body stalls after some bytes.
    package func stalling(after count: Int) -> Reply {
      changed { reply in
        reply.length = .claimed(body.count)
        reply.body = Array(body.prefix(count))
        reply.endPause = .seconds(86_400)
      }
    }

    /// The same reply with its body repeated, of which one copy is in memory.
    package func repeated(_ count: Int) -> Reply { changed { $0.repeats = count } }

    /// The same reply, with the connection closed after some bytes of its body.
    package func closing(after count: Int, resetting: Bool = false) -> Reply {
      changed { ($0.closesAfter, $0.resets) = (count, resetting) }
    }

    /// The same reply with another declaration of its length.
    package func declaring(_ length: Length) -> Reply { changed { $0.length = length } }

    /// The same reply with a function that receives how it ended.
    package func onEnd(_ action: @escaping @Sendable (_ isWhole: Bool) -> Void) -> Reply {
      changed { $0.onEnd = action }
    }

    private func changed(_ change: (inout Reply) -> Void) -> Reply {
      var reply = self
      change(&reply)
      return reply
    }

    /// Whether the client can detect the end of this reply, so that another one may follow.
    package var keepsConnection: Bool {
      guard !isSilent, closesAfter == nil else { return false }
      return length == .actual || length == .claimed(body.count * repeats)
    }
  }
}

extension LoopbackServer.Reply {
  /// The bytes before the body.
  func head(bodyLength: Int, keepsConnection: Bool) -> [UInt8] {
    // Without a reason in words, which clients ignore.
    var lines = ["HTTP/1.1 \(status) "]
    lines += headers.map { header in "\(header.name): \(header.value)" }
    switch length {
    case .actual where status == 204 || status == 304 || status < 200: break
    case .actual: lines.append("Content-Length: \(bodyLength)")
    case .claimed(let count): lines.append("Content-Length: \(count)")
    case .absent: break
    }
    if !keepsConnection { lines.append("Connection: close") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
  }
}
