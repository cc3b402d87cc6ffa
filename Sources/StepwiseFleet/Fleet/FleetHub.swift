// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Dispatch
  import Stepwise

  /// Delivers notifications to the waiters in this process.
  ///
  /// Each waiter also polls: a notification only makes it sooner.
  final class FleetHub: Sendable {
    /// Waits for news of a job until it is released; made before the job is looked up, so that nothing in between is missed.
    final class Ticket: Sendable {
      private let hub: FleetHub
      private let id: String
      private let news = Once<Void>()

      fileprivate init(_ id: String, in hub: FleetHub) {
        (self.id, self.hub) = (id, hub)
        hub.state.withLock { $0.waiters[id, default: []].append(news) }
      }

      deinit {
        hub.state.withLock { state in
          state.waiters[id]?.removeAll { $0 === news }
          if state.waiters[id]?.isEmpty == true { state.waiters[id] = nil }
        }
      }

      /// Returns when there is news, when the time has passed, or when the Task is cancelled.
      func wait(upTo limit: Duration) async {
        await news.waitForValue(upTo: limit)
        withExtendedLifetime(self) {}
      }
    }

    /// What a worker is notified of.
    enum News: Sendable {
      /// There may be jobs, for the worker with this number; nil for all.
      case jobs(worker: Int64?)
      /// The cancellation of a job was requested.
      case cancellation(id: String)
    }

    struct State {
      var isListening = false
      var isStopped = false
      var listener: PostgresListener?
      /// What the tickets of each job wait for.
      var waiters: [String: [Once<Void>]] = [:]
      var workers: [Int: @Sendable (News) -> Void] = [:]
      var nextKey = 0
    }

    private let connectionString: String?
    private let channel: String
    let state = Lock(State())

    /// Creates a hub; without a connection string, it receives no notifications.
    init(_ connectionString: String?, channel: String) {
      self.connectionString = connectionString
      self.channel = channel
    }

    func ticket(for id: String) -> Ticket {
      listen()
      return Ticket(id, in: self)
    }

    func addWorker(_ call: @escaping @Sendable (News) -> Void) -> Int {
      listen()
      return state.withLock { state in
        state.nextKey += 1
        state.workers[state.nextKey] = call
        return state.nextKey
      }
    }

    func removeWorker(_ key: Int) { _ = state.withLock { $0.workers.removeValue(forKey: key) } }

    func stop() {
      let listener = state.withLock { state in
        state.isStopped = true
        return state.listener
      }
      listener?.stop()
    }

    /// Starts to listen on the first call.
    private func listen() {
      guard let connectionString else { return }
      let isFirst = state.withLock { state in
        defer { state.isListening = true }
        return !state.isListening
      }
      guard isFirst else { return }
      let listener = PostgresListener(
        connectionString,
        channel: channel,
        connected: { [weak self] in self?.refresh() },
        receive: { [weak self] in self?.receive($0) }
      )
      let isStopped = state.withLock { state in
        state.listener = listener
        return state.isStopped
      }
      if isStopped { listener.stop() }
    }

    /// Makes the waiters of a job check again.
    func deliver(to id: String) {
      let waiters = state.withLock { $0.waiters.removeValue(forKey: id) } ?? []
      for waiter in waiters { waiter.settle(()) }
    }

    /// Makes all waiters check again, because notifications may have been missed.
    private func refresh() {
      let (waiters, workers) = state.withLock { state in
        defer { state.waiters = [:] }
        return (state.waiters.values.flatMap { $0 }, Array(state.workers.values))
      }
      for waiter in waiters { waiter.settle(()) }
      for worker in workers { worker(.jobs(worker: nil)) }
    }

    private func receive(_ payload: String) {
      let id = String(payload.dropFirst())
      switch payload.first {
      case "q": for worker in state.withLock({ Array($0.workers.values) }) { worker(.jobs(worker: Int64(id))) }
      case "c": for worker in state.withLock({ Array($0.workers.values) }) { worker(.cancellation(id: id)) }
      case "s": deliver(to: id)
      default: break
      }
    }
  }

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
            // It blocks the listener's thread.
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + delay / .seconds(1))
            delay = min(delay * 2, .seconds(5))
          }
        }
      }
    }

    func stop() { isStopped.withLock { $0 = true } }

    private var isOver: Bool { isStopped.withLock { $0 } }
  }

  extension Once {
    /// Returns when it is settled, when the time has passed, or when the Task is cancelled.
    package func waitForValue(upTo limit: Duration) async {
      await withTaskGroup { group in
        group.addTask { _ = await self.value() }
        group.addTask { try? await Task.sleep(for: limit) }
        await group.next()
        group.cancelAll()
      }
    }
  }

  /// Wakes one Task; one that is raised while no Task waits is remembered, once.
  final class FleetSignal: Sendable {
    private struct State {
      var isRaised = false
      var waiter: Once<Void>?
    }

    private let state = Lock(State())

    func raise() {
      let waiter = state.withLock { state in
        if state.waiter == nil { state.isRaised = true }
        return state.waiter.take()
      }
      waiter?.settle(())
    }

    /// Returns when the signal was raised, when the time has passed, or when the Task is cancelled.
    func wait(upTo limit: Duration) async {
      let waiter = Once<Void>()
      let isRaised = state.withLock { state in
        defer { state.isRaised = false }
        if !state.isRaised { state.waiter = waiter }
        return state.isRaised
      }
      if isRaised { return }
      await waiter.waitForValue(upTo: limit)
      state.withLock { $0.waiter = nil }
    }
  }
#endif
