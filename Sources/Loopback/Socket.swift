// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// An error of the system for a socket operation.
package struct SocketError: Error, CustomStringConvertible {
  package let description: String

  /// Creates an error from the failed operation and the system's current error.
  init(_ what: String) {
    let code = errno
    description = "\(what): \(strerror(code).map { String(cString: $0) } ?? "error \(code)")"
  }
}

/// A TCP socket of this machine, identified by its descriptor.
///
/// It does not own the descriptor: the code that created it has to close it once.
package struct Socket: Sendable, Hashable {
  package let descriptor: Int32

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// Creates a socket; the descriptor is negative when the system provides none.
  private init() {
    #if canImport(Glibc)
      descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      descriptor = Foundation.socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  /// A socket that listens on a port of 127.0.0.1, a free one for 0, and accepts without blocking.
  package static func listening(on port: UInt16 = 0, backlog: Int32 = 2048) throws(SocketError) -> Socket {
    let socket = try bound(to: port)
    guard listen(socket.descriptor, backlog) == 0 else {
      let error = SocketError("no port of 127.0.0.1 to listen on")
      socket.close()
      throw error
    }
    return socket
  }

  /// Returns a socket that has a port of 127.0.0.1, a free one for 0, and refuses connections.
  package static func bound(to port: UInt16 = 0) throws(SocketError) -> Socket {
    let socket = Socket()
    guard socket.descriptor >= 0 else { throw SocketError("no socket") }
    socket.configure(isBlocking: false)
    // A port that a program has just used can be used again.
    if port != 0 { socket.set(1, for: SO_REUSEADDR, level: SOL_SOCKET) }
    guard socket.withAddress(port: port, { bind(socket.descriptor, $0, $1) == 0 }) else {
      let error = SocketError("cannot use \(port == 0 ? "any port" : "port \(port)") of 127.0.0.1")
      socket.close()
      throw error
    }
    return socket
  }

  /// Returns a socket connected to a port of this machine, or nil when nothing listens there.
  package static func connected(port: UInt16) -> Socket? {
    let socket = Socket()
    guard socket.withAddress(port: port, { Foundation.connect(socket.descriptor, $0, $1) }) == 0 else {
      socket.close()
      return nil
    }
    return socket
  }

  /// Calls a closure with the address of a port of 127.0.0.1.
  private func withAddress<Result>(port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// The port of this machine that the socket is bound to.
  package func localPort() throws(SocketError) -> UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        getsockname(descriptor, pointer, &size)
      }
    }
    guard result == 0 else { throw SocketError("the socket has no port") }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Returns the next waiting connection, or nil when there is none.
  package func accept() -> Socket? {
    let connection = Socket(descriptor: Foundation.accept(descriptor, nil, nil))
    guard connection.descriptor >= 0 else { return nil }
    connection.configure(isBlocking: true)
    connection.set(1, for: TCP_NODELAY, level: Int32(IPPROTO_TCP))  // a chunk leaves when it is sent
    #if canImport(Darwin)
      connection.set(1, for: SO_NOSIGPIPE, level: SOL_SOCKET)
    #endif
    return connection
  }

  /// Returns the available bytes, waiting for the first; nil when the connection has ended.
  package func receive() -> [UInt8]? {
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: 16 * 1024) { buffer, count in
      repeat {
        result = recv(descriptor, buffer.baseAddress, buffer.count, 0)
      } while result < 0 && errno == EINTR
      count = max(0, result)
    }
    return bytes.isEmpty ? nil : bytes
  }

  /// Sends all bytes, waiting for the client to receive them; returns whether the connection is still open.
  package func send(_ bytes: ArraySlice<UInt8>) -> Bool {
    #if canImport(Darwin)
      let flags: Int32 = 0  // the socket has SO_NOSIGPIPE
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    return bytes.withUnsafeBytes { buffer in
      var rest = buffer[...]
      while !rest.isEmpty {
        let pending = UnsafeRawBufferPointer(rebasing: rest)
        let count = Foundation.send(descriptor, pending.baseAddress, pending.count, flags)
        if count > 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }

  /// Whether the peer has closed or reset the connection; never waits.
  package var isClosedByPeer: Bool {
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(bitPattern: UInt32(MSG_DONTWAIT)))
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
  }

  /// Tells the peer that no more data follows.
  package func finishSending() {
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// Shuts the connection down in both directions and wakes the threads that wait for it; the descriptor stays in use.
  package func shutDown() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  /// Makes `close` reset the connection.
  package func resetOnClose() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }

  /// Ends a wait for the peer, in either direction, as the end of the connection does.
  package func limitWaits(to limit: Duration) {
    let (seconds, attoseconds) = limit.components
    var time = timeval()
    time.tv_sec = numericCast(seconds)
    time.tv_usec = numericCast(attoseconds / 1_000_000_000_000)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  package func close() {
    _ = Foundation.close(descriptor)
  }

  private func configure(isBlocking: Bool) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    let flags = fcntl(descriptor, F_GETFL)
    // Set both ways, because an accepted socket inherits the listener's flag on some systems.
    _ = fcntl(descriptor, F_SETFL, isBlocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK)
  }

  private func set(_ value: Int32, for option: Int32, level: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
