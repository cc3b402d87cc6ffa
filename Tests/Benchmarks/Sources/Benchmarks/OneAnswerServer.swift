// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A server on this machine that gives every request the same answer.
struct OneAnswerServer: Sendable {
  let port: UInt16

  init(body: [UInt8]) throws {
    #if canImport(Glibc)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(listener, pointer, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, pointer, &size) == 0
      }
    }
    guard isListening else { throw CocoaError(.featureUnsupported) }
    port = UInt16(bigEndian: address.sin_port)
    let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
    Thread.detachNewThread {
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        Thread.detachNewThread { Self.serve(connection, answer) }
      }
    }
  }

  /// Requests come one after the other, without a body.
  private static func serve(_ connection: Int32, _ answer: [UInt8]) {
    var (buffer, request) = ([UInt8](repeating: 0, count: 4_096), [UInt8]())
    var one: Int32 = 1
    setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    while true {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      request += buffer[..<count]
      guard request.suffix(4) == [13, 10, 13, 10] else { continue }
      request.removeAll(keepingCapacity: true)
      guard write(connection, answer, answer.count) == answer.count else { break }
    }
    close(connection)
  }
}
