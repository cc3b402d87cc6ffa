// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// Delivers notifications to the waiters in this process.
  ///
  /// Each waiter also polls: a notification only makes it sooner.
  final class FleetHub: Sendable {
    /// Waits for news of a job; made before the job is looked up, so that nothing in between is missed.
    struct Ticket: Sendable {
      fileprivate let news = Once<Void>()

      /// Returns when there is news, when the time has passed, or when the Task is cancelled.
      func wait(upTo limit: Duration) async {
        await withTaskGroup { group in
          group.addTask { await news.value() }
          group.addTask { try? await Task.sleep(for: limit) }
          await group.next()
          group.cancelAll()
        }
      }
    }

    private struct State {
      var isListening = false
      var isStopped = false
      var listener: PostgresListener?
      var tickets: [String: [Ticket]] = [:]
      /// Called with the id of a job to cancel, or with nil when there may be work.
      var workers: [Int: @Sendable (_ cancelled: String?) -> Void] = [:]
      var nextKey = 0
    }

    private let connectionString: String?
    private let channel: String
    private let state = Lock(State())

    /// Creates a hub; without a connection string, it receives no notifications.
    init(_ connectionString: String?, channel: String) {
      self.connectionString = connectionString
      self.channel = channel
    }

    func ticket(for id: String) -> Ticket {
      listen()
      let ticket = Ticket()
      state.withLock { state in
        // Those that stopped waiting without news are released here.
        state.tickets[id, default: []].removeAll { $0.news.settled != nil }
        state.tickets[id, default: []].append(ticket)
      }
      return ticket
    }

    /// Ends a ticket that is no longer waited on.
    func discard(_ ticket: Ticket, for id: String) {
      ticket.news.settle(())
      state.withLock { state in
        state.tickets[id]?.removeAll { $0.news.settled != nil }
        if state.tickets[id]?.isEmpty == true { state.tickets[id] = nil }
      }
    }

    func addWorker(_ call: @escaping @Sendable (_ cancelled: String?) -> Void) -> Int {
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

    /// Makes all waiters check again, because notifications may have been missed.
    private func refresh() {
      let (tickets, workers) = state.withLock { state in
        defer { state.tickets = [:] }
        return (state.tickets.values.flatMap { $0 }, Array(state.workers.values))
      }
      for ticket in tickets { ticket.news.settle(()) }
      for worker in workers { worker(nil) }
    }

    private func receive(_ payload: String) {
      let id = String(payload.dropFirst())
      switch payload.first {
      case "q": for worker in state.withLock({ Array($0.workers.values) }) { worker(nil) }
      case "c": for worker in state.withLock({ Array($0.workers.values) }) { worker(id) }
      case "s":
        let tickets = state.withLock { $0.tickets.removeValue(forKey: id) } ?? []
        for ticket in tickets { ticket.news.settle(()) }
      default: break
      }
    }
  }
#endif
