// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// Stores the jobs of fleets in memory, for tests without a server.
  ///
  /// Register, enqueue and work as in production. With a `ManualClock` no test waits: the clock advances when no job has
  /// anything to do.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// let fleet = Fleet(MemoryFleetStore(clock: clock))
  /// fleet.register(order)
  /// let receipt = try await clock.run {
  ///   try await fleet.withWorker {
  ///     try await fleet.enqueue(order, cart, id: "order-7")
  ///     return try await fleet.result(of: "order-7", as: order)
  ///   }
  /// }
  /// ```
  ///
  /// Several fleets of one store are like several processes with one database. A worker keeps its lease until it ends, so
  /// its jobs are never lost to another one by time alone. Calls that write in your own transaction throw
  /// ``FleetError/needsPostgres(call:)``.
  public final class MemoryFleetStore: Sendable {
    private struct State {
      var fleet = MemoryFleet()
      var listeners: [Listener] = []
    }

    private struct Listener {
      let isNeeded: @Sendable () -> Bool
      let receive: FleetHub.Call
    }

    private let state = Lock(State())
    let clock: FleetClock
    private let start: Double
    /// Replaced when something may be due earlier.
    private let earlier = Lock(Once<Void>())

    /// Creates an empty store.
    ///
    /// - Parameters:
    ///   - clock: The clock by which delays, waits, limits and schedules are measured.
    ///   - start: The date that the clock now stands for; by default the beginning of 2026.
    public init(clock: some Clock<Duration>, start: Date = Date(timeIntervalSince1970: 1_767_225_600)) {
      self.clock = FleetClock(clock)
      self.start = start.timeIntervalSince1970
    }

    /// The date by the store's clock.
    public var now: Date { Date(timeIntervalSince1970: seconds) }

    var seconds: Double { start + clock.now() / .seconds(1) }

    func read<Value>(_ body: (MemoryFleet, Double) throws -> Value) rethrows -> Value {
      let now = seconds
      return try state.withLock { try body($0.fleet, now) }
    }

    /// Performs an operation, and then reports what has happened.
    ///
    /// With a decision, it may be discarded after all; that takes a copy of what is stored.
    func write<Value>(
      deciding decide: ((_ hasChanged: Bool) -> WriteDecision)? = nil,
      _ body: (inout MemoryFleet, Double) throws -> Value
    ) throws -> Value {
      let now = seconds
      let (result, news, listeners) = try state.withLock { state throws in
        let before = decide.map { _ in state.fleet }
        var result = Result<Value, any Error>.success(try body(&state.fleet, now))
        if let decide, let before {
          switch decide(state.fleet.revision != before.revision) {
          case .commit: break
          case .discard(let error): (state.fleet, result) = (before, .failure(error))
          case .commitAndFail(let error): result = .failure(error)
          }
        }
        let news = state.fleet.takeNews()
        state.listeners.removeAll { !$0.isNeeded() }
        return (result, news, state.listeners.map(\.receive))
      }
      if news.contains(.due) { raise() }
      let payloads = payloads(of: news)
      for receive in listeners { for payload in payloads { receive(payload) } }
      return try result.get()
    }

    /// What becomes of a transaction.
    enum WriteDecision {
      case commit
      case discard(any Error)
      case commitAndFail(any Error)
    }

    private func payloads(of news: Set<MemoryFleet.News>) -> [String] {
      news.flatMap { news -> [String] in
        switch news {
        case .jobs: read { fleet, _ in fleet.workers.keys.map { "q\($0)" } }
        case .cancelled(let id): ["c" + id]
        case .changed(let id): ["s" + id]
        case .due: []
        }
      }.sorted()
    }

    func listen(while isNeeded: @escaping @Sendable () -> Bool, _ receive: @escaping FleetHub.Call) {
      state.withLock { $0.listeners.append(Listener(isNeeded: isNeeded, receive: receive)) }
    }

    private func raise() {
      let waiting = earlier.withLock { earlier in
        defer { earlier = Once() }
        return earlier
      }
      waiting.settle(())
    }

    /// Returns when something is due, or may be due earlier than before.
    func waitUntilDue(upTo limit: Duration) async {
      let change = earlier.withLock { $0 }
      let due = read { fleet, now in fleet.nextDue(after: now).map { Duration.seconds(max(0, $0 - now)) } }
      await change.waitForValue(upTo: min(due ?? FleetClock.endless, limit), clock)
    }
  }

  extension Fleet {
    /// Creates a fleet in memory, for a test.
    ///
    /// - Parameters:
    ///   - store: The store; fleets of the same one share their jobs.
    ///   - configuration: The configuration of this worker. What concerns connections, polling and leases is not used.
    public convenience init(_ store: MemoryFleetStore, configuration: FleetConfiguration = FleetConfiguration()) {
      self.init(in: MemoryFleetSession(store, retention: configuration.retention), configuration)
    }

    /// Creates a fleet whose process ends at a write.
    package convenience init(_ store: MemoryFleetStore, crash: MemoryFleetCrash, configuration: FleetConfiguration) {
      self.init(in: MemoryFleetSession(store, retention: configuration.retention, crash: crash), configuration)
    }
  }

  /// Ends a process of a fleet in memory at one of its writes, and refuses everything after it.
  package final class MemoryFleetCrash: Sendable {
    /// The process has ended.
    package struct Failure: FleetStoreError {
      var isPermanent: Bool { true }
      var isTemporary: Bool { false }
      var isUnstorable: Bool { false }
    }

    private struct State {
      var writes = 0
      var hasCrashed = false
    }

    private let state = Lock(State())
    private let last: Int
    private let isLate: Bool

    /// Creates a crash before, or after, the write with a number.
    package init(at last: Int = .max, isLate: Bool = false) { (self.last, self.isLate) = (last, isLate) }

    package var hasCrashed: Bool { state.withLock { $0.hasCrashed } }

    func check() throws { if hasCrashed { throw Failure() } }

    func decide(_ hasChanged: Bool) -> MemoryFleetStore.WriteDecision {
      guard hasChanged else { return .commit }
      return state.withLock { state in
        state.writes += 1
        guard state.writes == last else { return .commit }
        state.hasCrashed = true
        return isLate ? .commitAndFail(Failure()) : .discard(Failure())
      }
    }
  }
#endif
