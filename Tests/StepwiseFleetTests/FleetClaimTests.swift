// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetClaimTests {
    let test = TestFleet()
    let limit = Duration.seconds(30)
    let name = StageCoder<Work>().name

    private func claim(_ fleet: Fleet, _ count: Int, as worker: Int64, knowing known: [Int64] = []) async throws
      -> [ClaimedRow]
    {
      let types = Array(fleet.registrations.withLock { $0.values })
      return try await fleet.claim(count, as: worker, knowing: known, of: types, within: limit)
    }

    /// The blocks that a call of a function reads.
    private func blocks(_ fleet: Fleet, _ call: String) async throws -> Int {
      let explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM @.\(call)"
      let plan = try await fleet.database.run(explain).first?.text(0)
      let hits = try #require(
        plan?.split(separator: "\"Shared Hit Blocks\": ").dropFirst().first?.prefix { $0.isNumber }
      )
      return try #require(Int(hits))
    }

    @Test
    func `What a worker stores of a job costs the same however many jobs run`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      let worker = try await fleet.registerWorker(within: limit)
      try await fleet.enqueue((0..<5_000).map { (id: "\($0)", progression: Work.script()) })
      let job = try #require(try await claim(fleet, 1, as: worker).first)
      func save(_ version: Int) async throws -> Int {
        let claim = "ARRAY['\(job.id)'], ARRAY[\(job.fence)]::bigint[], ARRAY[\(worker)]"
        return try await blocks(fleet, "save_stages(\(claim), '{\(version)}', '{0}', '{x}', '{f}', '{}')")
      }
      try await fleet.database.run("VACUUM ANALYZE @.jobs")
      // The first call plans, and the first one below moves the row to another block.
      _ = try await save(2)
      let few = try await save(3)
      try await fleet.database.run("UPDATE @.jobs SET state = 'running', worker = \(worker) WHERE state = 'queued'")
      _ = try await save(4)
      let many = try await save(5)
      #expect(try await fleet.status(of: job.id)?.stageCount == 5)
      // Some more are indexes, which have grown; reading the rows of all running jobs takes over 300.
      #expect(many <= few + 100)
    }

    @Test(arguments: [FleetLimits.none, .init(running: 9)]
    )
    func `A claim passes over what an open transaction keeps from being removed`(limits: FleetLimits) async throws {
      let fleet = test.fleet()
      fleet.register(Work.self, limits: limits)
      try await FleetWorker(fleet, fleet.registrations.withLock { $0 }).declareLimits()
      let worker = try await fleet.registerWorker(within: limit)
      let open = PostgresPool(server ?? "", size: 1)
      _ = try await open.run("BEGIN ISOLATION LEVEL REPEATABLE READ", [], within: limit)
      _ = try await open.run("SELECT 1", [], within: limit)
      try await fleet.enqueue((0..<30_000).map { (id: "\($0)", progression: Work.script()) })
      try await fleet.database.run("UPDATE @.jobs SET state = 'done', finished_at = now() WHERE seq <= 29990")
      let fences = "ARRAY (SELECT fence FROM @.jobs WHERE state = 'running')"
      /// The blocks that a claim of one job reads.
      func blocks() async throws -> Int {
        try await self.blocks(fleet, "claim(\(worker), \(fences), '{\(name)}', '{0}', '{5}', 1)")
      }
      let first = try await blocks()
      #expect(try await fleet.database.run("SELECT count(*) FROM @.marks").first?.integer(0) == 1)
      // A mark lasts for a second at least, and this may take longer.
      try await fleet.database.run("UPDATE @.marks SET until = 'infinity'")
      // On a connection that has not planned the claim yet, it reads some hundred blocks of the catalogue, too.
      var second = try await blocks()
      for _ in 0..<3 { second = min(second, try await blocks()) }
      #expect(second * 10 < first)
      _ = try await open.run("ROLLBACK", [], within: limit)
      // A job that is before the mark is found when the mark is over.
      try await fleet.database.run("UPDATE @.jobs SET state = 'queued', finished_at = NULL WHERE id = '7'")
      try await fleet.database.run("UPDATE @.marks SET until = '-infinity'")
      try await fleet.database.run("VACUUM @.jobs")
      let known = try await fleet.database.run("SELECT fence FROM @.jobs WHERE state = 'running'")
      let claimed = try await claim(fleet, 1, as: worker, knowing: known.compactMap { $0.integer(0) })
      #expect(claimed.map(\.id) == ["7"])
    }

    @Test
    func `A mark hides no earlier job, and none of a later version`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      let worker = try await fleet.registerWorker(within: limit)
      try await fleet.enqueue((0..<4).map { (id: "\($0)", progression: Work.script()) })
      try await fleet.database.run(
        """
        INSERT INTO @.marks SELECT name, 0, ~ priority, run_at, seq, clock_timestamp() + interval '1 hour'
        FROM @.jobs WHERE id = '2'
        """
      )
      let first = try await claim(fleet, 1, as: worker)
      #expect(first.map(\.id) == ["2"])
      try await fleet.enqueue(Work.script(), id: "later")
      try await fleet.enqueue(Work.script(), id: "urgent", options: FleetOptions(priority: 1))
      let second = try await claim(fleet, 2, as: worker, knowing: first.map(\.fence))
      #expect(Set(second.map(\.id)) == ["urgent", "0"])
      try await fleet.database.run(
        """
        INSERT INTO @.marks SELECT name, -1, ~ priority, run_at, seq, clock_timestamp() + interval '1 hour'
        FROM @.jobs WHERE id = 'later'
        """
      )
      let third = try await claim(fleet, 1, as: worker, knowing: (first + second).map(\.fence))
      #expect(third.map(\.id) == ["1"])
    }

    @Test
    func `A job notifies two workers that know its name and have a free slot`() async throws {
      let fleet = test.fleet(slots: 2)
      fleet.register(Work.self)
      let journal = try await test.listen()
      var full: [Int64] = []
      for _ in 0..<5 { full.append(try await fleet.registerWorker(knowing: [name], within: limit)) }
      try await fleet.enqueue((0..<10).map { (id: "\($0)", progression: Work.script()) })
      for worker in full { #expect(try await claim(fleet, 2, as: worker).count == 2) }
      for _ in 0..<5 { _ = try await fleet.registerWorker(knowing: ["Other"], within: limit) }
      var free: [Int64] = []
      for _ in 0..<5 { free.append(try await fleet.registerWorker(knowing: [name], within: limit)) }
      let before = journal.all.count
      try await fleet.enqueue(Work.script(), id: "one")
      try await fleet.cancel("one")
      try await waitUntil("the notification of the cancellation") { journal.all.last == "sone" }
      let notified = journal.all[before...].dropLast()
      #expect(notified.count == 2)
      #expect(Set(notified).isSubset(of: free.map { "q\($0)" }))
    }
  }
#endif
