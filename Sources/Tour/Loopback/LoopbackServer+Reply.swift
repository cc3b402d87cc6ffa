// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension LoopbackServer {
  /// What a server sends back: a status, headers and a body, and how well or badly it behaves while doing so.
  struct Reply: Sendable {
    /// What the header `Content-Length` says.
    enum Length: Sendable, Equatable {
      /// The length of the body.
      case actual
      /// Something else, larger or smaller.
      case claimed(Int)
      /// Nothing: the end of the connection ends the body.
      case absent
    }

    var status: Int
    var headers: [(name: String, value: String)]
    var body: [UInt8]
    /// The most bytes of the body sent at once; nil is no limit.
    var chunkSize: Int?
    /// How long to wait before each chunk.
    var pause: Duration = .zero
    /// The number of bytes of the body after which the connection is closed; nil is all of them.
    var closesAfter: Int?
    /// Whether the connection, where it is closed by the server, is reset instead of ended properly.
    var resets = false
    /// Whether nothing is sent at all, not even a head.
    var isSilent = false
    var length: Length = .actual
    /// Called after the reply with true, or with false when the client or the server's stop cut it short.
    var onEnd: (@Sendable (Bool) -> Void)?

    init(status: Int = 200, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
      self.status = status
      self.headers = headers
      self.body = body
    }

    /// A reply of status 200 with a body.
    static func ok(_ body: [UInt8], contentType: String = "application/octet-stream") -> Reply {
      Reply(headers: [("Content-Type", contentType)], body: body)
    }

    /// A reply with a line of plain text.
    static func text(_ text: String, status: Int = 200) -> Reply {
      Reply(status: status, headers: [("Content-Type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// A reply that sends the client to another address.
    static func redirect(to location: String, status: Int = 302) -> Reply {
      Reply(status: status, headers: [("Location", location)])
    }

    /// The reply for a path that is not there.
    static let notFound = Reply.text("not found\n", status: 404)

    /// No reply at all: the connection is closed.
    static let silent: Reply = {
      var reply = Reply()
      reply.isSilent = true
      return reply
    }()

    /// The same reply, its body sent in chunks with a pause before each.
    func slowly(chunkSize: Int, pause: Duration) -> Reply {
      var reply = self
      reply.chunkSize = chunkSize
      reply.pause = pause
      return reply
    }

    /// The same reply, with the connection closed after some bytes of its body.
    func closing(after count: Int, resetting: Bool = false) -> Reply {
      var reply = self
      reply.closesAfter = count
      reply.resets = resetting
      return reply
    }

    /// The same reply with a different word about its length.
    func declaring(_ length: Length) -> Reply {
      var reply = self
      reply.length = length
      return reply
    }

    /// The same reply with a function that is told how it ended.
    func onEnd(_ action: @escaping @Sendable (_ isWhole: Bool) -> Void) -> Reply {
      var reply = self
      reply.onEnd = action
      return reply
    }

    /// Whether the client can tell where this reply ends, so that another may follow.
    var keepsConnection: Bool {
      guard !isSilent, closesAfter == nil else { return false }
      return length == .actual || length == .claimed(body.count)
    }
  }
}

extension LoopbackServer.Reply {
  /// The bytes before the body.
  func head(bodyLength: Int, keepsConnection: Bool) -> [UInt8] {
    var lines = ["HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")"]
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

  private static let reasons = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
    308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    408: "Request Timeout", 409: "Conflict", 411: "Length Required", 413: "Content Too Large",
    429: "Too Many Requests", 431: "Request Header Fields Too Large", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  ]
}
