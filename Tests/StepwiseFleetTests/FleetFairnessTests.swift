// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetFairnessTests {
    let test = TestFleet()
    let limit = Duration.seconds(30)
    let name = StageCoder<Work>().name

    /// A fleet with a worker that has its lease.
    private func worker(_ limits: FleetLimits = .none) async throws -> (Fleet, Int64) {
      let fleet = test.fleet(lease: .seconds(3_600))
      fleet.register(Work.self, limits: limits)
      try await FleetWorker(fleet, fleet.registrations.withLock { $0 }).declareLimits()
      return (fleet, try await fleet.registerWorker(within: limit))
    }

    private func enqueue(_ count: Int, of key: String?, in fleet: Fleet, priority: Int = 0) async throws {
      let jobs = (0..<count).map { (id: "\(key ?? "")-\($0)-\(priority)", progression: Work.script()) }
      try await fleet.enqueue(jobs, options: FleetOptions(priority: priority, key: key, keepsStages: false))
    }

    /// Claims jobs and ends them; returns their ids in the order of the claims.
    private func work(_ count: Int, _ fleet: Fleet, _ worker: Int64, each size: Int = 1) async throws -> [String] {
      let types = Array(fleet.registrations.withLock { $0.values })
      var ids: [String] = []
      while ids.count < count {
        let rows = try await fleet.claim(size, as: worker, knowing: nil, of: types, within: limit)
        if rows.isEmpty { break }
        ids += rows.map(\.id)
        try await fleet.database.run("UPDATE @.jobs SET state = 'done', finished_at = now() WHERE state = 'running'")
      }
      return ids
    }

    // G226
    @Test(arguments: [FleetLimits.none, FleetLimits(running: 1_000), FleetLimits(runningPerKey: 100)])
    func `Keys take turns, whatever the first one has enqueued`(limits: FleetLimits) async throws {
      let (fleet, worker) = try await worker(limits)
      try await enqueue(limits == .none ? 100_000 : 5_000, of: "big", in: fleet)
      #expect(try await work(10, fleet, worker).allSatisfy { $0.hasPrefix("big") })
      for key in 0..<20 { try await enqueue(1, of: "small\(key)", in: fleet) }
      try await enqueue(10, of: "medium", in: fleet)
      let order = try await work(41, fleet, worker, each: 3)
      // The small ones wait for one job of each other key, and the medium one has every second turn.
      #expect(Set(order.prefix(23).filter { $0.hasPrefix("small") }).count == 20)
      #expect(order.filter { $0.hasPrefix("medium") }.count == 10)
      #expect(order.filter { $0.hasPrefix("big") }.count <= 12)
      try await enqueue(1, of: "big", in: fleet, priority: 1)
      #expect(try await work(1, fleet, worker) == ["big-0-1"])
    }

    @Test
    func `Jobs that become due take turns, and a retry keeps its turn`() async throws {
      let (fleet, worker) = try await worker()
      for key in ["a", "b"] {
        for number in 0..<50 {
          // Each in a statement of its own, as callers do.
          let options = FleetOptions(key: key, start: .after(.seconds(3_600)))
          try await fleet.enqueue(Work.script(), id: "\(key)\(number)", options: options)
        }
      }
      try await fleet.enqueue(Work.script(), id: "now", options: FleetOptions(key: "c"))
      try await fleet.database.run("UPDATE @.jobs SET run_at = now() - interval '1 second' WHERE state = 'scheduled'")
      let order = try await work(21, fleet, worker)
      #expect(order.filter { $0.hasPrefix("a") }.count == 10 && order.filter { $0.hasPrefix("b") }.count == 10)
      // One that has run before is not behind the jobs of its key.
      try await fleet.database.run(
        "UPDATE @.jobs SET state = 'scheduled', finished_at = NULL, run_at = now() - interval '1 second' WHERE id = $1",
        [.text(order[1])]
      )
      #expect(try await work(1, fleet, worker) == [order[1]])
    }

    @Test
    func `Without keys, jobs start in the order in which they were enqueued`() async throws {
      let (fleet, worker) = try await worker()
      for number in 0..<20 { try await fleet.enqueue(Work.script(), id: "\(number)") }
      #expect(try await work(20, fleet, worker) == (0..<20).map { "\($0)" })
    }

    @Test
    func `A claim by turns reads at most a quarter more than one without`() async throws {
      let (fleet, worker) = try await worker()
      /// The blocks that a claim of 16 jobs reads, in the median of some.
      func blocks() async throws -> Int {
        try await fleet.database.run("VACUUM ANALYZE @.jobs")
        var blocks: [Int] = []
        for _ in 0..<31 {
          let fences = "ARRAY (SELECT fence FROM @.jobs WHERE state = 'running')"
          let claim = "@.claim(\(worker), \(fences), '{\(name)}', '{0}', '{5}', 16)"
          let explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM \(claim)"
          let text = try #require(try await fleet.database.run(explain).first?.text(0))
          let plan = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
          let root = try #require(plan.first?["Plan"] as? [String: Any])
          blocks.append(try #require(root["Shared Hit Blocks"] as? Int))
        }
        return blocks.sorted()[15]
      }
      for key in 0..<100 { try await enqueue(100, of: "\(key)", in: fleet) }
      let fair = try await blocks()
      // The same queue without turns, its jobs in an order in which neighbours are not of one statement, either.
      try await fleet.database.run(
        "UPDATE @.jobs SET state = 'queued', turn = 0, run_at = now() - random() * interval '1 hour'"
      )
      let without = try await blocks()
      // Less than sorting the queue, or entering an index for each key, would read.
      #expect(fair <= 1_000)
      #expect(Double(fair) <= 1.25 * Double(without), "\(fair) blocks, \(without) without turns")
    }
  }
#endif
