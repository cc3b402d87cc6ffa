// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim

  /// The descriptors that the thread of a transport waits for.
  ///
  /// libcurl forgets the socket of a connection after each transfer and watches it again for the next one. The system
  /// keeps watching it here until it closes, or until it has something that no transfer waits for, which saves two
  /// calls per request.
  final class CurlSockets {
    fileprivate struct Socket {
      /// What the system watches it for; 0 for nothing.
      var watched: Int32 = 0
      /// What libcurl wants to wait for.
      var wanted: Int32 = 0
      /// The number of a connection, whose close is reported here; 0 for other descriptors.
      var connection = 0
      /// Where it leads, once a transfer has used it.
      var ends: Ends?
      /// Whether it speaks HTTP/2, in which each response names its request.
      var namesRequests = false
    }

    /// The two ends of a connection, as libcurl names them before each request.
    struct Ends: Hashable {
      let server: String
      let client: String
      let serverPort: Int32
      let clientPort: Int32
    }

    private static let eventCapacity = 64

    private let poll: Int32
    private let wakeup: Int32
    /// By their numbers, which the system keeps small.
    private var sockets: [Socket] = []
    private var connections: [Ends: Int32] = [:]
    /// The number of connections so far.
    private var count = 0

    /// Nil when the system has no descriptors left.
    init?(wakeup: Int32) {
      poll = stepwise_poll_create()
      self.wakeup = wakeup
      guard poll >= 0, wakeup >= 0, stepwise_poll_watch(poll, wakeup, 1, 0) == 0 else { return nil }
    }

    deinit { if poll >= 0 { stepwise_close(poll) } }

    /// libcurl has opened a connection; returns its number, as the system uses descriptors again.
    func add(_ descriptor: Int32) -> Int {
      count += 1
      change(descriptor) { $0 = Socket(connection: count) }
      return count
    }

    /// Returns the connection that libcurl has chosen for a transfer.
    ///
    /// - Parameters:
    ///   - ends: Its ends.
    ///   - opened: The connections that libcurl has opened for the transfer, of which it has closed all but one.
    /// - Returns: The connection, and whether it was there before; nil for an unknown one.
    func connection(_ ends: Ends, opened: [(descriptor: Int32, number: Int)]) -> (descriptor: Int32, isReused: Bool)? {
      if let descriptor = opened.first(where: { sockets[Int($0.descriptor)].connection == $0.number })?.descriptor {
        connections[ends] = descriptor
        sockets[Int(descriptor)].ends = ends
        return (descriptor, false)
      }
      return connections[ends].map { ($0, true) }
    }

    /// Returns whether a connection speaks HTTP/2, in which each response names its request.
    func namesRequests(_ descriptor: Int32) -> Bool { sockets[Int(descriptor)].namesRequests }

    /// Records that a connection speaks HTTP/2.
    func recordHTTP2(_ descriptor: Int32) { sockets[Int(descriptor)].namesRequests = true }

    /// libcurl closes a descriptor.
    func forget(_ descriptor: Int32) {
      change(descriptor) { socket in
        if let ends = socket.ends, connections[ends] == descriptor { connections[ends] = nil }
        socket = Socket()
      }
    }

    private static func at(_ context: UnsafeMutableRawPointer?) -> CurlSockets? {
      context.map { Unmanaged<CurlSockets>.fromOpaque($0).takeUnretainedValue() }
    }

    private func change(_ descriptor: Int32, _ body: (inout Socket) -> Void) {
      let index = Int(descriptor)
      if index >= sockets.count { sockets += Array(repeating: Socket(), count: index + 1 - sockets.count) }
      body(&sockets[index])
    }

    /// Waits for a descriptor as libcurl wants: 1 to read, 2 to write, 3 for both, 4 for nothing any more.
    func watch(_ descriptor: Int32, _ what: Int32) {
      change(descriptor) { socket in
        socket.wanted = what == 4 ? 0 : what
        if socket.connection != 0, socket.wanted == 0 || socket.wanted == socket.watched { return }
        socket.setWatched(socket.wanted, by: poll, descriptor)
      }
    }

    /// Waits for the network; calls the closure for each descriptor that libcurl waits for.
    ///
    /// - Parameters:
    ///   - milliseconds: How long to wait; negative for no limit.
    ///   - wakened: Called after the wait.
    ///   - act: Called with a descriptor and its state: readable (1), writable (2), broken (4).
    func wait(_ milliseconds: Int32, wakened: () -> Void, act: (_ descriptor: Int32, _ events: Int32) -> Void) {
      withUnsafeTemporaryAllocation(of: stepwise_poll_event.self, capacity: Self.eventCapacity) { events in
        guard let base = events.baseAddress else { return }
        let count = Int(stepwise_poll_wait(poll, base, Int32(Self.eventCapacity), milliseconds))
        wakened()
        for event in events.prefix(count) {
          if event.descriptor == wakeup {
            stepwise_wakeup_receive(wakeup)
          } else if sockets[Int(event.descriptor)].wanted != 0 {
            act(event.descriptor, event.events)
          } else {
            change(event.descriptor) { $0.setWatched(0, by: poll, event.descriptor) }
          }
        }
      }
    }
  }

  extension CurlSockets.Socket {
    fileprivate mutating func setWatched(_ what: Int32, by poll: Int32, _ descriptor: Int32) {
      _ = stepwise_poll_watch(poll, descriptor, what, watched)
      watched = what
    }
  }
#endif
