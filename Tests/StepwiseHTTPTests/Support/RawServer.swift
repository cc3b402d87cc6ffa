// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Loopback
import Stepwise
import Testing

/// A server that sends bytes as they are, whatever they mean.
final class RawServer: Sendable {
  /// What happens after the bytes.
  enum End: Sendable {
    case close
    case reset
    /// Nothing, until the client closes.
    case hold
  }

  struct Answer: Sendable {
    var bytes: [UInt8]
    var end = End.close

    init(_ text: String, end: End = .close) { self.init(Array(text.utf8), end: end) }

    init(_ bytes: [UInt8], end: End = .close) {
      self.bytes = bytes
      self.end = end
    }
  }

  /// Says what to send, from the head of the request; nil closes the connection.
  typealias Handler = @Sendable (_ head: String) -> Answer?

  private let listener: Socket
  private let signal: StopPipe
  private let heads = Lock<[String]>([])
  let port: UInt16

  init(_ handler: @escaping Handler) throws {
    withoutProxy
    listener = try Socket.listening()
    port = try listener.localPort()
    signal = try StopPipe()
    Thread.detachNewThread { [listener, signal, heads = Weak(self)] in
      while signal.waits(for: listener) {
        guard let connection = listener.accept() else { continue }
        Thread.detachNewThread { Self.serve(connection, handler) { heads.value?.add($0) } }
      }
      listener.close()
    }
  }

  /// Sends the same to every request.
  convenience init(_ text: String, end: End = .close) throws { try self.init { _ in Answer(text, end: end) } }

  deinit { signal.send() }

  /// The heads of the requests so far.
  var requests: [String] { heads.withLock { $0 } }

  func url(_ path: String = "/", host: String = "127.0.0.1") throws -> URL {
    try #require(URL(string: "http://\(host):\(port)\(path)"))
  }

  private func add(_ head: String) { heads.withLock { $0.append(head) } }

  private static func serve(_ connection: Socket, _ handler: Handler, _ record: (String) -> Void) {
    defer { connection.close() }
    var received: [UInt8] = []
    while let bytes = connection.receive() {
      received += bytes
      let text = String(decoding: received, as: UTF8.self)
      guard let end = text.range(of: "\r\n\r\n") else { continue }
      let head = String(text[..<end.lowerBound])
      received = Array(text[end.upperBound...].utf8)
      record(head)
      guard let answer = handler(head) else { return }
      guard connection.send(answer.bytes[...]) else { return }
      switch answer.end {
      case .hold: continue
      case .reset: return connection.resetOnClose()
      case .close:
        connection.finishSending()
        // Closing with something unread would reset the connection.
        while connection.receive() != nil {}
        return
      }
    }
  }
}

/// A reference that does not retain, for a thread.
private final class Weak<Value: AnyObject & Sendable>: Sendable {
  weak let value: Value?

  init(_ value: Value) { self.value = value }
}

/// What ends the waits of a thread.
private final class StopPipe: Sendable {
  private let (reading, writing): (Int32, Int32)

  init() throws {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    (reading, writing) = (ends[0], ends[1])
  }

  deinit {
    close(reading)
    close(writing)
  }

  func send() {
    var byte: UInt8 = 1
    _ = write(writing, &byte, 1)
  }

  /// Waits for a connection; false at the end.
  func waits(for listener: Socket) -> Bool {
    var entries = [
      pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
      pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0),
    ]
    _ = poll(&entries, 2, -1)
    return entries[0].revents == 0
  }
}
