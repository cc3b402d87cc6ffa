// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import StepwiseFiles

/// A server on this machine whose files require a second attempt each.
final class UnreliableServer: Sendable {
  private let server: LoopbackServer

  /// Starts the server.
  ///
  /// - Throws: `SocketError` when the system provides no port.
  init() throws(SocketError) {
    let counts = Lock<[String: Int]>([:])
    server = try LoopbackServer { request in
      guard let file = Self.files.first(where: { "/\($0.name)" == request.path }) else { return .notFound }
      let attempt = counts.withLock { counts in
        counts[file.name, default: 0] += 1
        return counts[file.name, default: 0]
      }
      return file.reply(to: request, attempt: attempt)
    }
  }

  /// Returns its files, and where to save them.
  func files(in folder: String) -> [DownloadedFile] {
    Self.files.map { file in
      DownloadedFile(
        address: "\(server.address)/\(file.name)",
        path: "\(folder)/\(file.name)",
        sha256: SHA256.hex(file.bytes)
      )
    }
  }

  /// How the first response for a file fails.
  private enum Trouble {
    case drop, busy, stall, lie
  }

  private struct File {
    let name: String
    let trouble: Trouble
    let bytes: [UInt8]

    init(_ name: String, _ trouble: Trouble) {
      self.name = name
      self.trouble = trouble
      var random = UInt32(truncatingIfNeeded: name.utf8.reduce(2_166_136_261) { ($0 ^ Int($1)) &* 16_777_619 })
      bytes = (0..<400_000).map { _ in
        random = random &* 1_664_525 &+ 1_013_904_223
        return UInt8(truncatingIfNeeded: random >> 24)
      }
    }

    func reply(to request: LoopbackServer.Request, attempt: Int) -> LoopbackServer.Reply {
      if attempt == 1, case .busy = trouble {
        var busy = LoopbackServer.Reply.text("come back later\n", status: 503)
        busy.headers.append(("Retry-After", "1"))
        return busy
      }
      let whole = LoopbackServer.Reply.part(of: bytes, for: request, tag: "\"\(name)\"")
        .slowly(chunkSize: 10_000, pause: .milliseconds(20))
      guard attempt == 1 else { return whole }
      switch trouble {
      case .drop: return whole.closing(after: 240_000, resetting: true)
      case .stall: return whole.stalling(after: 160_000)
      case .lie: return whole.declaring(.claimed(bytes.count + 20_000))
      case .busy: return whole
      }
    }
  }

  private static let files = [
    File("dropped.bin", .drop), File("busy.bin", .busy), File("stalled.bin", .stall), File("misreported.bin", .lie),
  ]
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
