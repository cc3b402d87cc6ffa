// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Dispatch
  import Stepwise

  /// Delivers notifications to the subscribers in this process.
  ///
  /// Each of them also polls: a notification only makes it sooner.
  final class FleetHub: Sendable {
    /// The news of one job, or of all that workers are notified of; ends when it is released.
    final class Subscription: Sendable {
      private let hub: FleetHub
      private let id: String?

      fileprivate init(_ id: String?, in hub: FleetHub, _ call: @escaping Call) {
        (self.id, self.hub) = (id, hub)
        hub.calls.withLock { $0[id, default: [:]][ObjectIdentifier(self)] = call }
      }

      deinit {
        hub.calls.withLock { calls in
          calls[id]?[ObjectIdentifier(self)] = nil
          if calls[id]?.isEmpty == true { calls[id] = nil }
        }
      }
    }

    /// Receives a payload; nil when some may have been missed.
    typealias Call = @Sendable (_ payload: String?) -> Void

    /// Those of the subscribers to each job, and of the workers.
    let calls = Lock<[String?: [ObjectIdentifier: Call]]>([:])
    let expectations = SignalExpectations()
    private let store: any FleetStore
    private let isListening = Lock(false)

    init(_ store: any FleetStore) { self.store = store }

    /// Subscribes to the news of a job, or else to those for workers; the first call starts to listen.
    func subscribe(to id: String? = nil, _ call: @escaping Call) -> Subscription {
      let isFirst = isListening.withLock { isListening in
        defer { isListening = true }
        return !isListening
      }
      if isFirst { store.listen(while: { [weak self] in self != nil }, { [weak self] in self?.deliver($0) }) }
      return Subscription(id, in: self, call)
    }

    /// Subscribes to the news of a job before it is looked up, so that nothing in between is missed.
    ///
    /// - Returns: A function that waits for news, until a time has passed or the Task is cancelled.
    func news(of id: String) -> @Sendable (_ limit: Duration) async -> Void {
      let signal = FleetSignal(store.clock)
      let subscription = subscribe(to: id) { _ in signal.raise() }
      return { limit in
        await signal.wait(upTo: limit)
        withExtendedLifetime(subscription) {}
      }
    }

    /// Makes the subscribers to a job check again.
    func deliver(to id: String) { deliver("s" + id) }

    private func deliver(_ payload: String?) {
      let id = payload?.first == "s" ? payload.map { String($0.dropFirst()) } : nil
      let calls = calls.withLock { calls in
        payload == nil ? calls.values.flatMap(\.values) : Array(calls[id, default: [:]].values)
      }
      for call in calls { call(payload) }
    }

    /// Waits for the notifications of a channel, on a separate queue and as long as they are needed.
    ///
    /// It connects again after the connection broke: with a growing delay, of at most 5 seconds. What it missed before is
    /// not delivered, so it calls `receive` with nil each time that it has connected, and with each payload, in order.
    static func listen(
      _ connectionString: String,
      _ channel: String,
      while isNeeded: @escaping @Sendable () -> Bool,
      _ receive: @escaping Call
    ) {
      let listen = "LISTEN " + PostgresSchema(name: channel).quoted
      DispatchQueue(label: "stepwise.postgres.listener").async {
        var delay = Duration.milliseconds(50)
        while isNeeded() {
          do {
            let socket = try PostgresSocket(connectionString, deadline: .now + .seconds(10))
            try socket.prepare(listen, as: "listen", [], deadline: .now + .seconds(10))
            _ = try socket.execute("listen", [], deadline: .now + .seconds(10))
            delay = .milliseconds(50)
            receive(nil)
            while isNeeded() {
              for payload in try socket.notifications(deadline: .now + .milliseconds(500)) { receive(payload) }
            }
          } catch {
            // It blocks the listener's thread.
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + delay / .seconds(1))
            delay = min(delay * 2, .seconds(5))
          }
        }
      }
    }
  }

  extension Once {
    /// Returns when it is settled, when the time has passed, or when the Task is cancelled.
    package func waitForValue(upTo limit: Duration) async { await waitForValue(upTo: limit, .system) }

    func waitForValue(upTo limit: Duration, _ clock: FleetClock) async {
      if settled != nil { return }
      await withTaskGroup { group in
        group.addTask { _ = await self.value() }
        group.addTask { await clock.sleep(for: limit) }
        await group.next()
        group.cancelAll()
      }
    }
  }

  /// Wakes the Tasks that wait; one that is raised while none waits is remembered, once.
  final class FleetSignal: Sendable {
    private let next = Lock(Once<Void>())
    private let clock: FleetClock

    init(_ clock: FleetClock) { self.clock = clock }

    func raise() { next.withLock { $0 }.settle(()) }

    /// Returns when the signal was raised, when the time has passed, or when the Task is cancelled.
    func wait(upTo limit: Duration) async {
      let raised = next.withLock { $0 }
      await raised.waitForValue(upTo: limit, clock)
      if raised.settled != nil { next.withLock { if $0 === raised { $0 = Once() } } }
    }
  }
#endif
