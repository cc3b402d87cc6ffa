// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  @testable import StepwiseFleetTesting
  import StepwiseTesting
  import Testing

  /// What the conformance suite holds fleets of.
  enum TestStore: CaseIterable, CustomTestStringConvertible {
    case memory, postgres

    /// Those that there are: PostgreSQL needs a server.
    static let all: [TestStore] = server == nil ? [.memory] : allCases

    var testDescription: String { self == .memory ? "in memory" : "PostgreSQL" }

    var context: StoreContext { StoreContext(self) }
  }

  /// A number that several jobs count.
  final class RunningCount: Sendable {
    private let count = Lock(0)

    var value: Int { count.withLock { $0 } }

    @discardableResult
    func add(_ number: Int) -> Int {
      count.withLock { count in
        count += number
        return count
      }
    }

    func raise(to number: Int) { count.withLock { $0 = max($0, number) } }
  }

  /// One empty store, the fleets on it, and its time.
  struct StoreContext: Sendable {
    private let database = TestFleet()
    private let memory: (store: MemoryFleetStore, clock: ManualClock)?
    let journal = Journal()

    init(_ kind: TestStore) {
      let clock = ManualClock()
      memory = kind == .memory ? (MemoryFleetStore(clock: clock), clock) : nil
    }

    var isInMemory: Bool { memory != nil }

    func fleet(_ change: (inout FleetConfiguration) -> Void = { _ in }) -> Fleet {
      var configuration = database.fleet(lease: .seconds(3_600)).configuration
      change(&configuration)
      if let memory { return Fleet(memory.store, configuration: configuration) }
      return Fleet(server ?? "", configuration: configuration)
    }

    /// Runs a test, in whose time nothing passes but what it waits for, if it is in memory.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
      guard let memory else { return try await body() }
      return try await memory.clock.run(body)
    }

    var clock: any Clock<Duration> { memory?.clock ?? ContinuousClock() }

    /// The time by the store's clock.
    var now: Date { memory?.store.now ?? Date() }

    func pass(_ duration: Duration) async throws { try await clock.sleep(for: duration) }

    /// Waits until a condition holds; throws what it waited for when that takes too long.
    func until(_ what: String, _ holds: () async throws -> Bool) async throws {
      let clock = memory.map { FleetClock($0.clock) } ?? FleetClock(ContinuousClock())
      while try await !holds() {
        guard clock.now() < .seconds(60) else { throw Failure(text: "waited in vain: \(what)") }
        // Safety: a pause between two looks at what workers do; its length matters to no result.
        try await pass(.milliseconds(20))
      }
    }

    func waitForState(_ state: FleetState, of id: String, in fleet: Fleet) async throws {
      try await until("job \(id) is \(state)") { try await fleet.status(of: id)?.state == state }
    }

    /// Runs a body while workers run, and then drains them.
    @discardableResult
    func withWorkers<Value: Sendable>(
      _ fleets: Fleet...,
      onEvent: @escaping @Sendable (FleetEvent) -> Void = { _ in },
      _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      let work = { @Sendable (token: CancellationToken) async throws in
        try await withThrowingTaskGroup { group in
          for fleet in fleets { group.addTask { try await fleet.work(until: token, onEvent: onEvent) } }
          try await group.waitForAll()
        }
      }
      return try await StepwiseFleetTesting.withWorker(until: work, body)
    }

    /// Registers a worker without running it; it is what a test claims as.
    func worker(_ fleet: Fleet, knowing names: [String] = []) async throws -> Int64 {
      try await fleet.registerWorker(knowing: names, names.map { _ in 9 }, within: .seconds(30))
    }

    /// Claims jobs of the registered types.
    func claim(_ count: Int, as worker: Int64, _ fleet: Fleet) async throws -> [ClaimedRow] {
      let types = Array(fleet.registrations.withLock { $0 }.values)
      return try await fleet.claim(count, as: worker, knowing: nil, of: types, within: .seconds(30))
    }
  }
#endif
