// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise

  /// Forwards connections to a port of this machine, until a test cuts them or stops forwarding without closing them.
  final class FaultProxy: Sendable {
    private final class Link: Sendable {
      let client: Int32
      let server: Int32
      private let stalled = Lock(false)
      private let openEnds = Lock(2)

      init(_ client: Int32, _ server: Int32) { (self.client, self.server) = (client, server) }

      var isStalled: Bool { stalled.withLock { $0 } }

      func stall() { stalled.withLock { $0 = true } }

      func cut() {
        shutdown(client, Int32(SHUT_RDWR))
        shutdown(server, Int32(SHUT_RDWR))
      }

      /// Forwards one direction on a thread of its own; what comes after a stall is swallowed.
      func forward(from source: Int32, to target: Int32) {
        Thread.detachNewThread { [self] in
          var buffer = [UInt8](repeating: 0, count: 65_536)
          while true {
            let count = recv(source, &buffer, buffer.count, 0)
            if count <= 0 { break }
            if isStalled { continue }
            var sent = 0
            while sent < count {
              let part = buffer.withUnsafeBytes {
                send(target, $0.baseAddress?.advanced(by: sent), count - sent, Int32(MSG_NOSIGNAL))
              }
              if part <= 0 { break }
              sent += part
            }
          }
          if !isStalled { cut() }
          let left = openEnds.withLock { openEnds in
            openEnds -= 1
            return openEnds
          }
          if left == 0 {
            close(client)
            close(server)
          }
        }
      }
    }

    let port: Int
    private let listener: Int32
    private let target: UInt16
    private let links = Lock<[Link]>([])

    init(to target: Int) throws {
      self.target = UInt16(target)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      self.listener = listener
      var address = Self.loopback(0)
      let isBound = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard isBound == 0, listen(listener, 64) == 0 else { throw Failure(text: "no port for the proxy") }
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      _ = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
      }
      port = Int(UInt16(bigEndian: address.sin_port))
      Thread.detachNewThread { [weak self] in
        while true {
          let client = accept(listener, nil, nil)
          guard client >= 0, let self else { return }
          self.connect(client)
        }
      }
    }

    deinit {
      shutdown(listener, Int32(SHUT_RDWR))
      close(listener)
      for link in links.withLock({ $0 }) { link.cut() }
    }

    /// Closes all connections; returns how many there were.
    func cut() -> Int {
      let links = links.withLock { links in
        defer { links = [] }
        return links
      }
      for link in links { link.cut() }
      return links.count
    }

    /// Stops forwarding on all connections, and leaves them open; returns how many there were.
    func stall() -> Int {
      let links = links.withLock { $0 }
      for link in links { link.stall() }
      return links.count
    }

    private func connect(_ client: Int32) {
      let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = Self.loopback(target)
      let isConnected = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Foundation.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard isConnected == 0 else {
        close(client)
        close(server)
        return
      }
      let link = Link(client, server)
      links.withLock { $0.append(link) }
      link.forward(from: client, to: server)
      link.forward(from: server, to: client)
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      return address
    }
  }
#endif
