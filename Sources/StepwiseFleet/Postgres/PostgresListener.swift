// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Dispatch
  import Stepwise

  /// A connection that waits for the notifications of one channel, on a separate queue, until it is stopped.
  ///
  /// It connects again after it broke: with a growing delay, of at most 5 seconds. What it missed before is not
  /// delivered, so it says when it has connected.
  final class PostgresListener: Sendable {
    private let isStopped = Lock(false)

    /// Calls `connected` each time that the connection listens, and `receive` with each payload, in order.
    init(
      _ connectionString: String,
      channel: String,
      connected: @escaping @Sendable () -> Void,
      receive: @escaping @Sendable (String) -> Void
    ) {
      let listen = "LISTEN " + PostgresSchema(name: channel).quoted
      DispatchQueue(label: "stepwise.postgres.listener").async { [self] in
        var delay = Duration.milliseconds(50)
        while !isOver {
          do {
            let socket = try PostgresSocket(connectionString, deadline: .now + .seconds(10))
            try socket.prepare(listen, as: "listen", [], deadline: .now + .seconds(10))
            _ = try socket.execute("listen", [], deadline: .now + .seconds(10))
            delay = .milliseconds(50)
            connected()
            while !isOver {
              for payload in try socket.notifications(deadline: .now + .milliseconds(500)) { receive(payload) }
            }
          } catch {
            Self.pause(delay)
            delay = min(delay * 2, .seconds(5))
          }
        }
      }
    }

    func stop() { isStopped.withLock { $0 = true } }

    private var isOver: Bool { isStopped.withLock { $0 } }

    /// Blocks the listener's own thread.
    private static func pause(_ duration: Duration) {
      let semaphore = DispatchSemaphore(value: 0)
      _ = semaphore.wait(timeout: .now() + duration / .seconds(1))
    }
  }
#endif
