// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Loopback
import Stepwise
import StepwiseFiles

/// A server on this machine whose files require a second attempt each.
final class UnreliableServer: Sendable {
  typealias Reply = LoopbackServer.Reply

  /// What the first attempt for a file leads to, given the whole reply.
  private static let troubles: [String: @Sendable (Reply) -> Reply] = [
    "dropped.bin": { whole in whole.closing(after: 240_000, resetting: true) },
    "busy.bin": { _ in
      var busy = Reply.text("come back later\n", status: 503)
      busy.headers.append(("Retry-After", "1"))
      return busy
    },
    "stalled.bin": { whole in whole.stalling(after: 160_000) },
    "misreported.bin": { whole in whole.declaring(.claimed(420_000)) },
  ]

  private let server: LoopbackServer

  /// Starts the server.
  ///
  /// - Throws: `SocketError` when the system provides no port.
  init() throws(SocketError) {
    let tried = Lock<Set<String>>([])
    server = try LoopbackServer { request in
      let name = String(request.path.dropFirst())
      guard let trouble = Self.troubles[name] else { return .notFound }
      let whole = Reply.part(of: Self.bytes(of: name), for: request, tag: "\"\(name)\"")
        .slowly(chunkSize: 10_000, pause: .milliseconds(20))
      return tried.withLock { $0.insert(name).inserted } ? trouble(whole) : whole
    }
  }

  /// Returns its files, and where to save them.
  func files(in folder: String) -> [DownloadedFile] {
    Self.troubles.keys.sorted().map { name in
      DownloadedFile(
        address: "\(server.address)/\(name)",
        path: "\(folder)/\(name)",
        sha256: SHA256.hex(Self.bytes(of: name))
      )
    }
  }

  private static func bytes(of name: String) -> [UInt8] {
    (0..<400_000).map { UInt8(truncatingIfNeeded: $0 * (name.utf8.count + $0) / 8) }
  }
}

extension LoopbackServer.Reply {
  /// Returns a file, or the range that the request specifies.
  static func part(of bytes: [UInt8], for request: LoopbackServer.Request, tag: String) -> LoopbackServer.Reply {
    var reply = LoopbackServer.Reply.ok(bytes)
    reply.headers.append(("ETag", tag))
    guard let range = request.header("Range"), range.hasPrefix("bytes="), request.header("If-Range") ?? tag == tag,
      let start = Int(range.dropFirst(6).prefix { $0 != "-" })
    else { return reply }
    guard start < bytes.count else {
      return LoopbackServer.Reply(status: 416, headers: [("Content-Range", "bytes */\(bytes.count)")])
    }
    let last = min(Int(range.drop { $0 != "-" }.dropFirst()) ?? .max, bytes.count - 1)
    reply.status = 206
    reply.headers.append(("Content-Range", "bytes \(start)-\(last)/\(bytes.count)"))
    reply.body = Array(bytes[start...last])
    return reply
  }
}
