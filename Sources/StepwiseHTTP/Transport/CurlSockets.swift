// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import CurlShim

  /// The sockets of a transport's connections, and what its thread waits for.
  ///
  /// `curl_multi_perform` and `curl_multi_poll` look at every transfer in each round, also at those that only wait: beside
  /// a thousand of them a small request takes 29 ms with libcurl 7.88, and 0.3 ms this way.
  ///
  /// libcurl forgets the socket of a connection after each transfer and watches it again for the next one. The system
  /// keeps watching it here until it closes, or until it has something that no transfer waits for, which saves two
  /// calls per request.
  final class CurlSockets {
    private struct Socket {
      /// What the system watches it for; 0 for nothing.
      var watched: Int32 = 0
      /// What libcurl wants to wait for.
      var wanted: Int32 = 0
      /// The job for which libcurl has opened the connection; nil for other descriptors.
      var opener: ObjectIdentifier?
      /// The hash of the connection's two ends, once a transfer has used it.
      var ends: Int?
      /// Whether it speaks HTTP/2, in which each response names its request.
      var isHTTP2 = false

      mutating func watch(_ what: Int32, by poll: Int32, _ descriptor: Int32) {
        _ = stepwise_poll_watch(poll, descriptor, what, watched)
        watched = what
      }
    }

    private static let eventCapacity = 64

    private let poll: Int32
    private let wakeup: Int32
    private var sockets: [Int32: Socket] = [:]
    private var connections: [Int: Int32] = [:]

    /// Nil when the system has no descriptors left.
    init?(wakeup: Int32) {
      poll = stepwise_poll_create()
      self.wakeup = wakeup
      guard poll >= 0, wakeup >= 0, stepwise_poll_watch(poll, wakeup, 1, 0) == 0 else { return nil }
    }

    deinit { if poll >= 0 { stepwise_close(poll) } }

    /// libcurl has opened a connection for a job.
    func add(_ descriptor: Int32, for job: ObjectIdentifier) { sockets[descriptor] = Socket(opener: job) }

    /// Returns the connection that libcurl has chosen for a job, and whether it has been used for HTTP/1 before.
    func connection(_ ends: Int, of job: ObjectIdentifier, opened: [Int32]) -> (descriptor: Int32, isReused: Bool)? {
      if let new = opened.last(where: { sockets[$0]?.opener == job }) {
        connections[ends] = new
        sockets[new]?.ends = ends
        return (new, false)
      }
      return connections[ends].map { ($0, sockets[$0]?.isHTTP2 != true) }
    }

    func recordHTTP2(_ descriptor: Int32) { sockets[descriptor]?.isHTTP2 = true }

    /// libcurl closes a descriptor, whose number the system uses again.
    func remove(_ descriptor: Int32) {
      let ends = sockets.removeValue(forKey: descriptor)?.ends
      if let ends, connections[ends] == descriptor { connections[ends] = nil }
    }

    /// Waits for a descriptor as libcurl wants: 1 to read, 2 to write, 3 for both, 4 for nothing any more.
    func watch(_ descriptor: Int32, _ what: Int32) {
      var socket = sockets[descriptor, default: Socket()]
      socket.wanted = what == 4 ? 0 : what
      if socket.opener == nil || socket.wanted != 0 && socket.wanted != socket.watched {
        socket.watch(socket.wanted, by: poll, descriptor)
      }
      sockets[descriptor] = socket.opener == nil && socket.wanted == 0 ? nil : socket
    }

    /// Waits for the network; calls the closure for each descriptor that libcurl waits for.
    ///
    /// - Parameters:
    ///   - milliseconds: How long to wait; negative for no limit.
    ///   - act: Called with a descriptor and its state: readable (1), writable (2), broken (4).
    func wait(_ milliseconds: Int32, act: (_ descriptor: Int32, _ events: Int32) -> Void) {
      withUnsafeTemporaryAllocation(of: stepwise_poll_event.self, capacity: Self.eventCapacity) { events in
        guard let base = events.baseAddress else { return }
        let count = Int(stepwise_poll_wait(poll, base, Int32(Self.eventCapacity), milliseconds))
        for event in events.prefix(count) {
          if event.descriptor == wakeup {
            stepwise_wakeup_receive(wakeup)
          } else if let wanted = sockets[event.descriptor]?.wanted, wanted != 0 {
            act(event.descriptor, event.events)
          } else {
            sockets[event.descriptor]?.watch(0, by: poll, event.descriptor)
          }
        }
      }
    }
  }
#endif
