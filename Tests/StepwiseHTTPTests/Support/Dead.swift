// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Testing

/// A port whose connections nobody accepts: what is sent to it is never answered.
final class DeadPort: Sendable {
  private let listener: Socket
  let port: UInt16

  init() throws {
    listener = try Socket.listening()
    port = try listener.localPort()
  }

  deinit { listener.close() }

  var url: URL {
    get throws { try #require(URL(string: "http://127.0.0.1:\(port)/")) }
  }

  /// Takes the connection that is waiting.
  func accept() -> Socket? { listener.accept() }
}

extension DeadPort {
  /// Waits, on a thread that may block, for a connection and takes it.
  func waitForConnection() -> Socket? {
    var wanted = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&wanted, 1, 30_000)
    return accept()
  }
}

/// Runs something that blocks away from the cooperative threads.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}
