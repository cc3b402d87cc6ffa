// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux)
  import Foundation
  import Testing

  @testable import StepwiseHTTP

  /// URLs whose host is an IPv6 address.
  @Suite(.timeLimit(.minutes(5))) struct IPv6Tests {
    @Test(
      .enabled(if: IPv6Listener() != nil, "this machine has no IPv6"),
      arguments: TransportKind.available
    )
    func `An IPv6 literal is a host`(kind: TransportKind) async throws {
      withoutProxy
      let listener = try #require(IPv6Listener())
      let url = try #require(URL(string: "http://[::1]:\(listener.port)/a"))
      let client = try kind.client(url)
      guard TransportDifference.ipv6Literals.followers.contains(kind) else {
        await #expect(throws: HTTPError.self) { try await client.get() }
        return
      }
      async let head = onThread { listener.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nv6") }
      #expect(try await client.get().text == "v6")
      let received = await head
      #expect(received.contains("Host: [::1]:\(listener.port)\r\n"))
    }
  }

  /// A port of `::1`.
  private final class IPv6Listener: Sendable {
    private let descriptor: Int32
    let port: UInt16

    init?() {
      descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_addr = in6addr_loopback
      var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let listener = descriptor
      let isListening = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          bind(listener, pointer, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, pointer, &size) == 0
        }
      }
      port = UInt16(bigEndian: address.sin6_port)
      guard isListening else { return nil }
    }

    deinit { close(descriptor) }

    /// Answers one request; returns its head.
    func answer(_ text: String) -> String {
      let connection = accept(descriptor, nil, nil)
      defer { close(connection) }
      var (head, buffer) = ("", [UInt8](repeating: 0, count: 4_096))
      while !head.contains("\r\n\r\n"), case let count = read(connection, &buffer, buffer.count), count > 0 {
        head += String(decoding: buffer.prefix(count), as: UTF8.self)
      }
      let bytes = Array(text.utf8)
      _ = write(connection, bytes, bytes.count)
      return head
    }
  }
#endif
