// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(60)))
  struct FleetModelTests {
    /// `STEPWISE_FLEET_SCHEDULES=100000` for a run of this suite alone.
    private static let schedules =
      ProcessInfo.processInfo.environment["STEPWISE_FLEET_SCHEDULES"].flatMap { Int($0) } ?? 400

    @Test
    func `No sequence of faults breaks the protocol, and every job ends`() async throws {
      var (disturbances, stages) = (0, 0)
      for seed in 0..<Self.schedules {
        var fleet = ModelledFleet(seed: UInt64(seed), nodes: 3, jobs: 4)
        for _ in 0..<150 { fleet.step(withFaults: true) }
        disturbances += fleet.disturbances
        fleet.settleDown()
        var steps = 0
        while !fleet.database.jobs.values.allSatisfy(\.state.isFinal), steps < 5_000 {
          fleet.step(withFaults: false)
          steps += 1
        }
        stages += fleet.commits.count
        try #require(fleet.violations.isEmpty, "seed \(seed): \(fleet.violations.first ?? "")")
        try #require(steps < 5_000, "seed \(seed): a job never ends: \(fleet.database.jobs)")
        if seed.isMultiple(of: 10) { await Task.yield() }
      }
      // The schedules do what they are for.
      #expect(disturbances > Self.schedules * 20)
      #expect(stages > Self.schedules)
    }

    @Test(
      .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"),
      arguments: 0..<4
    )
    func `The SQL does what the model does under random operations`(seed: Int) async throws {
      let fleet = TestFleet().fleet()
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 2, backoff: .none))
      var check = ModelComparison(fleet, seed: UInt64(seed))
      for _ in 0..<250 { try await check.step() }
      #expect(check.effects > 100)
    }
  }

  extension ModelledFleet {
    /// From here on nothing is disturbed: drained workers are replaced, and the leases of dead ones end.
    mutating func settleDown() {
      for node in nodes.indices where nodes[node].machine.isDraining {
        for index in sent.indices where sent[index].node == node { sent[index].node = nil }
        nodes[node] = Node()
      }
      let alive = Set(nodes.compactMap(\.machine.worker))
      for worker in database.workers.keys where !alive.contains(worker) { database.expire(worker) }
    }
  }
#endif
