// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import StepwiseTesting
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetLimitTests {
    let test = TestFleet()

    @Test
    func `The limits of a name and of a key hold over the whole fleet`() async throws {
      let running = Lock<[String: Int]>([:])
      let peaks = Lock<[String: Int]>([:])
      let work = Work.script(last: 3) { id, _, _ in
        // The key of a job is the last letter of its id.
        for name in ["all", String(id.suffix(1))] {
          let count = running.withLock { running in
            running[name, default: 0] += 1
            return running[name] ?? 0
          }
          peaks.withLock { $0[name] = max($0[name] ?? 0, count) }
        }
        for _ in 0..<20 { await Task.yield() }
        for name in ["all", String(id.suffix(1))] { running.withLock { $0[name, default: 0] -= 1 } }
      }
      let fleets = (0..<3).map { _ in test.fleet(poll: .milliseconds(50)) }
      for fleet in fleets { fleet.register(Work.self, limits: FleetLimits(running: 5, runningPerKey: 2)) }
      for key in ["a", "b", "c", "d"] {
        let jobs = (0..<20).map { (id: "\($0)\(key)", progression: work) }
        try await fleets[0].enqueue(jobs, options: FleetOptions(key: key))
      }
      try await test.withWorkers(fleets) { () async throws in
        for key in ["a", "b", "c", "d"] {
          for id in 0..<20 { #expect(try await fleets[0].result(of: "\(id)\(key)", as: Work.self) == 3) }
        }
      }
      let all = peaks.withLock { $0 }
      #expect(all["all"] ?? 0 <= 5)
      for key in ["a", "b", "c", "d"] { #expect((1...2).contains(all[key] ?? 0)) }
    }

    @Test
    func `A claim mixes limited and other names by priority`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self, limits: FleetLimits(running: 3, starts: 10, per: .seconds(3_600)))
      fleet.register(Other.self)
      let worker = FleetWorker(fleet, fleet.registrations.withLock { $0 })
      try await worker.declareLimits()
      for id in 0..<6 {
        try await fleet.enqueue(Work.script(), id: "limited-\(id)", options: FleetOptions(priority: 1))
        try await fleet.enqueue(
          Other(),
          id: "other-\(id)",
          options: FleetOptions(priority: id.isMultiple(of: 2) ? 2 : 0)
        )
      }
      let number = try await fleet.registerWorker(within: .seconds(30))
      let types = Array(fleet.registrations.withLock { $0.values })
      var known: [Int64] = []
      var claimed: [Set<String>] = []
      for _ in 0..<3 {
        let rows = try await fleet.claim(4, as: number, knowing: known, of: types, within: .seconds(30))
        known += rows.map(\.fence)
        claimed.append(Set(rows.map(\.id)))
      }
      #expect(
        claimed == [
          ["other-0", "other-2", "other-4", "limited-0"], ["limited-1", "limited-2", "other-1", "other-3"], ["other-5"],
        ]
      )
      let tokens = try await fleet.database.run("SELECT tokens FROM @.limits").first?.real(0) ?? 0
      #expect((7...7.1).contains(tokens))
    }

    @Test
    func `A claim passes over jobs of keys at their limit without locking them`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self, limits: FleetLimits(runningPerKey: 2))
      try await FleetWorker(fleet, fleet.registrations.withLock { $0 }).declareLimits()
      func add(_ name: String, _ count: Int, key: String?, priority: Int) async throws {
        let options = FleetOptions(priority: priority, key: key)
        try await fleet.enqueue((0..<count).map { (id: "\(name)\($0)", progression: Work.script()) }, options: options)
      }
      try await add("full", 3_000, key: "full", priority: 9)
      try await add("b", 4, key: "b", priority: 0)
      try await add("a", 4, key: "a", priority: 1)
      try await add("none", 3, key: nil, priority: 2)
      let number = try await fleet.registerWorker(within: .seconds(30))
      let types = Array(fleet.registrations.withLock { $0.values })
      let first = try await fleet.claim(6, as: number, knowing: [], of: types, within: .seconds(30))
      #expect(first.map(\.id).sorted() == ["a0", "full0", "full1", "none0", "none1", "none2"])
      let second = try await fleet.claim(6, as: number, knowing: first.map(\.fence), of: types, within: .seconds(30))
      #expect(second.map(\.id).sorted() == ["a1", "b0", "b1"])
      // A lock leaves its transaction's number in the row.
      let locked = "SELECT count(*) FROM @.jobs WHERE key = 'full' AND state = 'queued' AND xmax <> 0"
      #expect(try await fleet.database.run(locked).first?.integer(0) == 0)
    }

    @Test
    func `No more jobs of a name start than its rate allows`() async throws {
      let fleet = test.fleet(slots: 50)
      fleet.register(Work.self, limits: FleetLimits(starts: 5, per: .seconds(3_600)))
      try await fleet.enqueue((0..<20).map { (id: "\($0)", progression: Work.script()) })
      try await test.withWorkers([fleet]) { () async throws in
        for id in 0..<5 { #expect(try await fleet.result(of: "\(id)", as: Work.self) == 3) }
        // An hour later there are five more.
        try await fleet.database.run("UPDATE @.limits SET refilled_at = refilled_at - interval '1 hour'")
        for id in 5..<10 { #expect(try await fleet.result(of: "\(id)", as: Work.self) == 3) }
      }
      #expect(try await fleet.counts() == [.done: 10, .queued: 10])
    }

    @Test
    func `A tick of a schedule is enqueued once, however many workers look`() async throws {
      let fleets = (0..<4).map { _ in test.fleet() }
      let work = Work.script()
      try await fleets[0].schedule("nightly", cron: "30 3 * * *", timeZone: "Europe/Berlin", work)
      let next = "SELECT to_char(next_at AT TIME ZONE 'Europe/Berlin', 'HH24:MI:SS') FROM @.schedules"
      #expect(try await fleets[0].database.run(next).first?.text(0) == "03:30:00")
      for day in 1...10 {
        let due = "UPDATE @.schedules SET next_at = clock_timestamp() - $1 * interval '1 minute'"
        try await fleets[0].database.run(due, [.integer(Int64(day))])
        try await withThrowingTaskGroup { group in
          for fleet in fleets { group.addTask { try await fleet.tick() } }
          try await group.waitForAll()
        }
        #expect(try await fleets[0].counts() == [.queued: day])
        #expect(try await fleets[0].database.run(next).first?.text(0) == "03:30:00")
      }
      // Declared again without a change, it keeps its time; with one, it has the new time.
      try await fleets[1].schedule("nightly", cron: "30 3 * * *", timeZone: "Europe/Berlin", work)
      try await fleets[1].schedule("nightly", cron: "15 4 * * *", timeZone: "Europe/Berlin", work)
      #expect(try await fleets[0].database.run(next).first?.text(0) == "04:15:00")
      try await fleets[1].removeSchedule("nightly")
      #expect(try await fleets[0].database.run(next).isEmpty)
    }

    @Test
    func `A worker runs the ticks that are due`() async throws {
      let hasRun = Once<String>()
      let work = Work.script(last: 2) { id, _, _ in hasRun.settle(id) }
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.schedule("often", cron: "* * * * *", work)
      try await fleet.database.run("UPDATE @.schedules SET next_at = '2026-01-02 03:04:00+00'")
      try await test.withWorkers([fleet]) { () async throws in
        let id = await hasRun.valueIgnoringCancellation()
        #expect(id == "often@2026-01-02T03:04:00Z")
      }
    }

    @Test
    func `Schedules that cannot be are errors that say why`() async throws {
      let fleet = test.fleet()
      for (cron, zone) in [
        ("* * * *", "UTC"), ("60 * * * *", "UTC"), ("0 0 31 2 *", "UTC"), ("* * * * *", "Mars/Base"),
      ] {
        await #expect(throws: FleetError.self) {
          try await fleet.schedule("a", cron: cron, timeZone: zone, Work.script())
        }
      }
    }
  }

  private struct Other: Progression, Codable {
    var result: Int? { nil }
    func next() async throws -> Other { self }
  }
#endif
