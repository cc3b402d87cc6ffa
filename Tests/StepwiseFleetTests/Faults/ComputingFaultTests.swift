// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  /// Steps that compute on each thread of the cooperative pool for longer than a lease, in processes of their own.
  @Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct ComputingFaultTests {
    let test = TestFleet()
    /// Seconds; a shorter lease ends also because other tests keep the processors and the server busy.
    private static let lease = 6.0

    // G110
    @Test
    func `A worker keeps its lease while its stages compute`() async throws {
      let fleet = test.fleet()
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: Self.lease, slots: 64, attempts: 1)
      let start = ContinuousClock.now
      _ = try await workers.work(last: 2, rounds: 300_000).next()
      let duration = start.duration(to: .now) / .seconds(1)
      // Each thread of the pool computes several stages, each of them for about the time of the lease.
      let work = workers.work(last: 2, rounds: Int(300_000 * Self.lease / duration))
      let count = 2 * ProcessInfo.processInfo.activeProcessorCount
      try await fleet.enqueue((0..<count).map { (id: "\($0)", progression: work) })
      for _ in 0..<2 { try workers.launch() }
      try await waitUntil("all have ended", within: .seconds(240)) {
        try await fleet.counts().filter(\.key.isFinal).values.reduce(0, +) == count
      }
      #expect(try await fleet.counts() == [.done: count])
      let executions = try workers.executions()
      #expect((0..<count).allSatisfy { executions["\($0).1"] == 1 })
    }

    // G110
    @Test
    func `A durable run keeps its lease in PostgreSQL while its steps compute`() async throws {
      let process = try TestProcess([WorkerProcesses.program, server ?? "", test.schema])
      #expect(try await process.ended() == 0)
    }
  }
#endif
