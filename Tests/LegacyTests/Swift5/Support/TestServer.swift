// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback

/// A server on this machine: it sends back the method and the body, or, under another path, status 400.
final class TestServer {
  private let server: LoopbackServer

  init() throws {
    server = try LoopbackServer(routes: [
      "/echo": { request in .ok(request.body) },
      "/method": { request in .text(request.method) },
      "/wrong": { _ in LoopbackServer.Reply(status: 400, body: Array("no".utf8)) },
    ])
  }

  deinit { server.stop() }

  func url(_ path: String) throws -> URL {
    guard let url = URL(string: server.address + path) else { throw Fault("no such address") }
    return url
  }
}
