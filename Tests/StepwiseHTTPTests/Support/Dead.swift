// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Testing

/// A port whose connections are never accepted: what is sent to it is never answered.
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

/// Returns the URL of a port that refuses connections, and that no other server gets: its socket is never closed.
func closedPort() throws -> URL {
  try #require(URL(string: "http://127.0.0.1:\(Socket.bound().localPort())/"))
}

extension DeadPort {
  /// Waits, on a thread that may block, for a connection and takes it.
  func waitForConnection() -> Socket? {
    var wanted = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
    _ = poll(&wanted, 1, 300_000)
    return accept()
  }
}

#if os(Linux)
  /// A port that takes no further connection: every client waits.
  final class FullPort: Sendable {
    private let listener: Socket
    /// The only connection there is room for.
    private let first: Socket
    private let port: UInt16

    init() throws {
      listener = try Socket.listening(backlog: 0)
      port = try listener.localPort()
      first = try #require(Socket.connected(port: port))
    }

    deinit {
      first.close()
      listener.close()
    }

    var url: URL {
      get throws { try #require(URL(string: "http://127.0.0.1:\(port)/")) }
    }

    /// How many sockets on this machine are trying to connect to it.
    var knocks: Int {
      let table = connections()
      let digits = String(port, radix: 16, uppercase: true)
      let address = "0100007F:" + String(repeating: "0", count: 4 - digits.count) + digits
      return table.split(separator: "\n").count { line in
        let columns = line.split(separator: " ")
        // 02 is a connection that was requested and not answered.
        return columns.count > 3 && columns[2] == address && columns[3] == "02"
      }
    }

    /// The system's table of them, of which it gives a page at a time.
    private func connections() -> String {
      let descriptor = open("/proc/net/tcp", O_RDONLY | O_CLOEXEC)
      defer { _ = close(descriptor) }
      var (table, page) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
      while case let count = read(descriptor, &page, page.count), count > 0 { table += page.prefix(count) }
      return String(decoding: table, as: UTF8.self)
    }
  }
#endif

/// Looks until something holds; false when it does not in five minutes, which nothing takes.
func becomesTrue(_ condition: () -> Bool) async -> Bool {
  let start = ContinuousClock.now
  while !condition() {
    guard ContinuousClock.now - start < .seconds(300) else { return false }
    await Task.yield()
  }
  return true
}

/// Runs something that blocks away from the cooperative threads.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}
