// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  package import Stepwise
  import StepwiseCheckpoints
  import StepwiseFleet

  /// A job for tests that kill workers: each stage appends a line to a file before it ends.
  package struct CrashWork: Progression, Codable, Equatable {
    package var journal: String
    package var step = 1
    package var last: Int
    /// The length of the text that each stage computes, so that a worker is killed during a stage rather than between two.
    package var rounds: Int
    package var sum: UInt64 = 0
    /// Whether the stage ends its process.
    package var isPoison: Bool

    package init(journal: String, last: Int, rounds: Int, isPoison: Bool = false) {
      (self.journal, self.last, self.rounds, self.isPoison) = (journal, last, rounds, isPoison)
    }

    package func next() async throws -> CrashWork {
      var work = self
      if isPoison { kill(getpid(), SIGKILL) }
      for round in 0..<rounds { work.sum = (work.sum ^ UInt64(round + step)) &* 0x100_0000_01B3 }
      append("\(FleetJob.current?.id ?? "").\(step)\n", to: journal)
      work.step += 1
      return work
    }

    package var result: UInt64? { step == last ? sum : nil }
  }

  /// An order for tests that kill workers: each body and each undo appends a line to a file.
  package struct CrashOrder: Codable, Sendable, Equatable {
    package var journal: String
    package var rounds: Int
    /// Whether the last step fails.
    package var fails: Bool

    package init(journal: String, rounds: Int, fails: Bool) {
      (self.journal, self.rounds, self.fails) = (journal, rounds, fails)
    }

    package struct Refused: Error, Codable, Equatable {
      package init() {}
    }

    /// What a body or an undo does; its line names the idempotency key, and comes after one for its start.
    fileprivate func note(_ line: String) -> UInt64 {
      append("\(FleetJob.current?.id ?? "").> \(line)\n", to: journal)
      var sum: UInt64 = 0
      for round in 0..<rounds { sum = (sum ^ UInt64(round)) &* 0x100_0000_01B3 }
      append("\(FleetJob.current?.id ?? "").\(line) \(CurrentStep.idempotencyKey ?? "")\n", to: journal)
      return sum
    }

    package static let chain = Chain("crash order") { (order: CrashOrder) in
      try await step("reserve") {
        order.note("reserve")
      } undo: { _ in
        _ = order.note("undo reserve")
      }
      try await step("charge") {
        order.note("charge")
      } undo: { _ in
        _ = order.note("undo charge")
      }
      try await step("cool down", sleep: .milliseconds(50))
      let approval = try await step("approval", waitFor: Int.self, timeout: .seconds(600))
      try await step("approve") { order.note("approve \(approval)") }
      let packed = try await step("pack") { order.note("pack") }
      try await step("ship") {
        _ = order.note("ship")
        if order.fails { throw Refused() }
      } undo: { _ in
        _ = order.note("undo ship")
      }
      return packed
    }
  }

  /// An order that sends parcels as its children, for tests that kill workers.
  package enum CrashFamily {
    package static let parent = Chain("crash family") { (order: CrashOrder) in
      try await step("reserve") {
        order.note("reserve")
      } undo: { _ in
        _ = order.note("undo reserve")
      }
      let parcels = try await step("parcels", children: (0..<3).map { FleetChild(parcel, order, id: "\($0)") })
      try await step("ship") {
        _ = order.note("ship")
        if order.fails { throw CrashOrder.Refused() }
      }
      return parcels.count { (try? $0.get()) != nil }
    }

    package static let parcel = Chain("crash parcel") { (order: CrashOrder) in
      try await step("pack") {
        order.note("pack")
      } undo: { _ in
        _ = order.note("undo pack")
      }
      return try await step("post") { order.note("post") }
    }
  }

  /// Computes on each thread of the cooperative pool, as steps of a durable run, for a multiple of the store's lease.
  private func computeUnderLease(_ connection: String, _ schema: String) async throws {
    let store = PostgresCheckpointStore(connection, schema: schema, leaseDuration: .seconds(6))
    let count = ProcessInfo.processInfo.activeProcessorCount
    let chain = Chain("compute") { (seconds: Double) in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for part in 0..<count {
          group.addTask {
            try await step("part \(part)") {
              let end = ContinuousClock.now + .seconds(seconds)
              while ContinuousClock.now < end {}
              return 1
            }
          }
        }
        return try await group.reduce(0, +)
      }
    }
    let sum = try await chain.run(15, id: "compute", in: store)
    exit(sum == count ? 0 : 1)
  }

  private func append(_ line: String, to path: String) {
    let file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
    // One call appends a short line whole, also beside other processes.
    _ = line.withCString { write(file, $0, strlen($0)) }
    close(file)
  }

  /// A worker that tests kill and stop: `FleetWorkerChild CONNECTION SCHEMA LEASE SLOTS ATTEMPTS`; or one durable run that
  /// computes: `FleetWorkerChild CONNECTION SCHEMA`.
  @main
  struct FleetWorkerChild {
    static func main() async throws {
      // No worker outlives the test that started it; Linux ends it sooner, also when it is stopped.
      let parent = getppid()
      Thread.detachNewThread {
        // Safety: a pause between two looks at the parent; its length matters to no result.
        while getppid() == parent { sleep(1) }
        exit(0)
      }
      let arguments = CommandLine.arguments
      if arguments.count == 3 { return try await computeUnderLease(arguments[1], arguments[2]) }
      let fleet = Fleet(
        arguments[1] + " application_name=\(getpid())",
        configuration: FleetConfiguration(
          schema: arguments[2],
          slots: Int(arguments[4]) ?? 4,
          leaseDuration: .seconds(Double(arguments[3]) ?? 1),
          pollInterval: .milliseconds(100),
          maxConnections: 2,
          workerName: "\(getpid())",
          maxParked: 6
        )
      )
      fleet.register(CrashWork.self, retry: RetryPolicy(maxAttempts: Int(arguments[5]) ?? 1_000, backoff: .none))
      fleet.register(CrashFamily.parent, retry: RetryPolicy(maxAttempts: Int(arguments[5]) ?? 1_000, backoff: .none))
      fleet.register(CrashFamily.parcel, retry: RetryPolicy(maxAttempts: Int(arguments[5]) ?? 1_000, backoff: .none))
      fleet.register(CrashOrder.chain, retry: RetryPolicy(maxAttempts: Int(arguments[5]) ?? 1_000, backoff: .none))
      try? await withTerminationSignals {
        while !Task.isCancelled {
          // A server that is down at first is waited for.
          do { try await fleet.work() } catch { continue }
        }
      }
    }
  }
#else
  /// Without the trait there is no fleet to work for.
  @main
  struct FleetWorkerChild {
    static func main() {}
  }
#endif
