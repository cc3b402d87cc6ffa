// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import StepwiseTesting
  import Testing

  /// What each store of a fleet does: cancellation, pauses, continuing, changes by filter, schedules and overviews.
  @Suite(.timeLimit(.minutes(5)))
  struct FleetControlConformanceTests {
    struct Refused: Error, Codable, Equatable {
      var card = "visa"
    }

    private static let name = StageCoder<Work>().name

    // G287
    @Test(arguments: TestStore.all)
    func `Jobs are cancelled in each state, with their children, and chains are undone`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let sleeper = Chain("sleeper") { (_: Int) in
          try await step("reserve") {
            test.journal.add("reserve")
          } undo: {
            test.journal.add("undo")
          }
          try await step("cool down", sleep: .seconds(86_400))
          return 1
        }
        let fleet = test.fleet()
        fleet.register(sleeper)
        fleet.register(Work.self)
        let work = Work.script(last: 2) { _, _, _ in
          test.journal.add("running")
          try await test.pass(.seconds(3_600))
        }
        try await fleet.enqueue(work, id: "later", options: FleetOptions(start: .after(.seconds(3_600))))
        try await fleet.enqueue(work, id: "queued")
        #expect(try await fleet.cancel(["queued", "later", "none"]) == 2)
        #expect(try await fleet.status(of: "queued")?.state == .cancelled)
        try await fleet.enqueue(sleeper, 1, id: "parked")
        try await fleet.enqueue(work, id: "run")
        try await test.withWorkers(fleet) { () async throws in
          try await test.until("both have begun") { test.journal.all.count == 2 }
          try await test.until("it is parked") { try await fleet.status(of: "parked")?.wait?.reason == .sleep }
          // Nothing else happens that would make the worker look.
          #expect(try await fleet.cancel(["parked"], reason: "closed") == 1)
          try await test.waitForState(.cancelled, of: "parked", in: fleet)
          #expect(try await fleet.cancel(["run"], reason: "closed") == 1)
          try await test.waitForState(.cancelled, of: "run", in: fleet)
          await #expect(throws: FleetError.cancelled(id: "run", reason: "closed")) {
            try await fleet.result(of: "run", as: Work.self)
          }
          #expect(test.journal.count("undo") == 1)
          #expect(try await fleet.cancel("run") == false)
        }
        // A chain that was stopped is queued, and undone by the next worker; its child is cancelled at once.
        let children = test.fleet { $0.maxParked = 0 }
        children.register(sleeper)
        try await children.enqueue(sleeper, 1, id: "stopped")
        let batch = try FleetBatch([(id: "stopped/x", progression: work)][...])
        #expect(
          try await children.enqueue(batch, options: FleetOptions(start: .after(.seconds(900))), parent: "stopped") == 1
        )
        try await test.withWorkers(children) { () async throws in
          try await test.waitForState(.scheduled, of: "stopped", in: children)
        }
        #expect(try await children.cancel("stopped"))
        #expect(try await children.status(of: "stopped/x")?.state == .cancelled)
        #expect(try await children.status(of: "stopped")?.state == .queued)
        try await test.withWorkers(children) { () async throws in
          try await test.waitForState(.cancelled, of: "stopped", in: children)
        }
        #expect(test.journal.count("undo") == 2)
      }
    }

    @Test(arguments: TestStore.all)
    func `A paused name and a paused job start nothing until they are resumed`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet()
        fleet.register(Work.self)
        let work = Work.script(last: 2) { id, _, _ in test.journal.add(id) }
        #expect(try await fleet.pause(Self.name))
        #expect(try await !fleet.pause(Self.name))
        try await fleet.enqueue(work, id: "a")
        try await fleet.enqueue(work, id: "b")
        #expect(try await fleet.pause(job: "b"))
        #expect(try await !fleet.pause(job: "b"))
        #expect(try await fleet.status(of: "a")?.isPaused == true)
        try await test.withWorkers(fleet) { () async throws in
          try await test.pass(.milliseconds(300))
          #expect(test.journal.all == [])
          #expect(try await fleet.resume(Self.name))
          #expect(try await fleet.result(of: "a", as: Work.self) == 2)
          try await test.pass(.milliseconds(300))
          #expect(test.journal.all == ["a"])
          #expect(try await fleet.status(of: "b")?.wait?.reason == .jobPause)
          #expect(try await fleet.resume(job: "b"))
          #expect(try await fleet.result(of: "b", as: Work.self) == 2)
        }
      }
    }

    // G288
    @Test(arguments: TestStore.all)
    func `A failed order that is held continues from its failed step, or is undone`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let isBroken = Lock(true)
        let order = Chain("order") { (_: Int) in
          try await step("reserve") {
            test.journal.add("reserve")
            return "place"
          } undo: { _ in
            test.journal.add("undo")
          }
          try await step("charge") {
            test.journal.add("charge \(CurrentStep.idempotencyKey ?? "")")
            try await FleetJob.current?.setNote("charging")
            if isBroken.withLock({ $0 }) { throw Refused() }
          }
          return "shipped"
        }
        let fleet = test.fleet()
        fleet.register(order, onFailure: .hold)
        for id in ["a", "b"] { try await fleet.enqueue(order, 1, id: id) }
        try await test.withWorkers(fleet) { () async throws in
          for id in ["a", "b"] { try await test.waitForState(.failed, of: id, in: fleet) }
          #expect(try await fleet.value(of: "a", step: "reserve", as: String.self) == "place")
          #expect(try await fleet.status(of: "a")?.note == "charging")
          #expect(try await fleet.cancel("b"))
          try await test.waitForState(.cancelled, of: "b", in: fleet)
          #expect(test.journal.count("undo") == 1)
          isBroken.withLock { $0 = false }
          #expect(try await fleet.continue("a"))
          #expect(try await fleet.result(of: "a", as: order) == "shipped")
          #expect(try await !fleet.continue("a"))
          await #expect(throws: FleetError.self) { try await fleet.continue("b") }
        }
        #expect(test.journal.count("reserve") == 2)
        let charges = test.journal.all.filter { $0.hasPrefix("charge") }
        #expect(charges.count == 3 && Set(charges).count == 2)
      }
    }

    @Test(arguments: TestStore.all)
    func `Changes by filter apply to the jobs that it matches, and say what they leave`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet()
        fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
        let isBroken = Lock(true)
        let work = Work.script(last: 2) { id, _, _ in
          if isBroken.withLock({ $0 }) { throw Failure(text: "timeout \(id.count) of bank") }
        }
        for number in 0..<3 {
          try await fleet.enqueue(work, id: "f\(number)", options: FleetOptions(key: "k", tags: ["bank"]))
        }
        try await test.withWorkers(fleet) {
          try await test.until("all failed") { () async throws in
            try await fleet.counts()[.failed] == 3
          }
        }
        try await fleet.enqueue(work, id: "open", options: FleetOptions(start: .after(.seconds(600))))
        let bank = FleetFilter(tag: "bank")
        let dry = try await fleet.apply(.retry, to: bank, isDryRun: true)
        #expect(dry.matchedCount == 3 && dry.applicableCount == 3 && dry.changedCount == 0 && dry.refusal == nil)
        await #expect(throws: FleetError.unknownTag(tag: "none")) {
          try await fleet.apply(.retry, to: FleetFilter(tag: "none"))
        }
        await #expect(throws: FleetError.self) { try await fleet.apply(.retry, to: FleetFilter()) }
        await #expect(throws: FleetError.self) { try await fleet.apply(.cancel(reason: nil), to: bank) }
        let raised = try await fleet.apply(.reprioritize(7), to: FleetFilter(states: [.scheduled]))
        #expect(raised.changedCount == 1)
        #expect(try await fleet.status(of: "open")?.priority == 7)
        isBroken.withLock { $0 = false }
        let error = FleetFilter(error: "timeout 99 of bank")
        let retried = try await fleet.apply(.retry, to: error)
        #expect(retried.changedCount == 3)
        try await test.withWorkers(fleet) { () async throws in
          for number in 0..<3 { #expect(try await fleet.result(of: "f\(number)", as: Work.self) == 2) }
        }
        let all = try await fleet.apply(.prune, to: FleetFilter(name: Self.name), includesAll: true)
        #expect(all.matchedCount == 4 && all.changedCount == 3 && all.refusal != nil)
        #expect(try await fleet.jobs().jobs.map(\.id) == ["open"])
        #expect(try await fleet.jobs(matching: FleetFilter(text: "pe"), limit: 1).next == nil)
      }
    }

    @Test(arguments: TestStore.all)
    func `Ended jobs are removed by age and replaced, and a stage is forked`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet { $0.retention = .milliseconds(100) }
        fleet.register(Work.self)
        let work = Work.script(last: 3) { id, step, _ in test.journal.add("\(id) \(step)") }
        try await fleet.enqueue(work, id: "a")
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "a", as: Work.self) == 3)
        }
        #expect(try await !fleet.enqueue(work, id: "a"))
        #expect(try await fleet.enqueue(work, id: "a", options: FleetOptions(replacing: .finished)))
        #expect(try await fleet.status(of: "a")?.stageCount == 1)
        #expect(try await !fleet.enqueue(work, id: "a", options: FleetOptions(replacing: .finished)))
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "a", as: Work.self) == 3)
        }
        #expect(try await fleet.fork("a", fromStage: 2, as: "fork"))
        #expect(try await !fleet.fork("a", fromStage: 2, as: "fork"))
        await #expect(throws: FleetError.notFound(id: "a")) { try await fleet.fork("a", fromStage: 9, as: "other") }
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "fork", as: Work.self) == 3)
        }
        #expect(test.journal.count("fork 2") == 1 && test.journal.count("fork 1") == 0)
        try await test.pass(.milliseconds(200))
        // A worker looks when it starts.
        try await test.withWorkers(fleet) { () async throws in
          try await test.until("both are removed") { try await fleet.jobs().jobs.isEmpty }
        }
      }
    }

    // G289
    @Test(arguments: TestStore.all)
    func `A time of a schedule is one job, however many workers see it`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let (first, second) = (test.fleet(), test.fleet())
        let work = Work.script(last: 2)
        try await first.schedule("nightly", cron: "0 3 * * *", timeZone: "Europe/Berlin", work)
        await #expect(throws: FleetError.self) { try await first.schedule("bad", cron: "0 3 * *", work) }
        await #expect(throws: FleetError.self) { try await first.schedule("bad", cron: "0 3 31 2 *", work) }
        await #expect(throws: FleetError.self) {
          try await first.schedule("bad", cron: "0 3 * * *", timeZone: "Europe/Nowhere", work)
        }
        let schedule = try #require(try await first.schedules().first)
        let time = schedule.nextAt.timeIntervalSince1970
        #expect(schedule.lastID == nil && schedule.progression == Self.name)
        #expect(Int(time) % 86_400 == 7_200 || Int(time) % 86_400 == 3_600)
        let added = try await [
          first.store.tick("nightly", at: time, next: time + 86_400),
          second.store.tick("nightly", at: time, next: time + 86_400),
        ]
        #expect(added == [Self.name, nil])
        let id = "nightly@\(schedule.nextAt.formatted(.iso8601))"
        #expect(try await first.jobs().jobs.map(\.id) == [id])
        #expect(try await first.schedules().first?.lastID == id)
        let other = try await first.runSchedule("nightly")
        #expect(other.hasPrefix("nightly@"))
        await #expect(throws: FleetError.self) { try await first.runSchedule("other") }
        try await first.removeSchedule("nightly")
        #expect(try await first.schedules().isEmpty)
      }
    }

    @Test(arguments: [
      // 27 October 2030, 2:00 in Berlin, an hour before the clocks go back to 2:00.
      ("*/30 * * * *", 1_919_289_600, [30, 60, 90, 120, 150]),
      ("30 2 * * *", 1_919_289_600, [90, 1_530]),
      // 31 March 2030, 1:00, an hour before 3:00.
      ("30 2 * * *", 1_901_145_600, [90, 1_470]),
    ]
    )
    func `Each store knows the times of a schedule when the clocks change`(
      cron: String,
      start: Int64,
      minutes: [Int64]
    ) async throws {
      for kind in TestStore.all {
        let test = kind.context
        var found: [Int64] = []
        while found.count < minutes.count {
          let after = Double(found.last ?? start)
          let next = try await test.fleet().store.next(of: CronExpression(cron), in: "Europe/Berlin", after: after)
          found.append(try #require(next))
        }
        #expect(found.map { ($0 - start) / 60 } == minutes, "\(kind)")
      }
    }

    @Test(arguments: TestStore.all)
    func `Overviews count jobs, names and workers`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet { $0.workerName = "alpha" }
        fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
        for (id, fails) in [("a", true), ("b", false), ("c", false)] {
          let work = Work.script(last: 2) { _, _, _ in if fails { throw Failure(text: "error 7") } }
          try await fleet.enqueue(work, id: id)
        }
        try await fleet.enqueue(Work.script(), id: "d", options: FleetOptions(start: .after(.seconds(900))))
        try await test.withWorkers(fleet) { () async throws in
          try await test.until("three ended") {
            let counts = try await fleet.counts()
            return counts[.done] == 2 && counts[.failed] == 1
          }
          #expect(try await fleet.workers().map(\.name) == ["alpha"])
          let name = try #require(try await fleet.names().first)
          #expect(name.name == Self.name && name.workerCount == 1 && !name.isPaused)
          #expect(name.counts == [.done: 2, .failed: 1, .scheduled: 1])
        }
        #expect(try await fleet.workers().isEmpty)
        #expect(try await fleet.names(endedWithin: .zero).first?.counts == [.scheduled: 1])
        let activity = try await fleet.activity()
        #expect(activity.reduce(0) { $0 + $1.doneCount } == 2 && activity.reduce(0) { $0 + $1.failedCount } == 1)
        let group = try #require(try await fleet.errors().first)
        #expect(group.error.contains("error 7") && group.exampleID == "a")
        let page = try await fleet.jobs(limit: 2)
        #expect(page.jobs.map(\.id) == ["a", "b"] && page.next == "b")
        #expect(try await fleet.jobs(in: [.done, .scheduled], after: "b").jobs.map(\.id) == ["c", "d"])
        #expect(try await fleet.status(of: "d")?.wait?.reason == .start)
      }
    }
  }

  /// What only a fleet in memory does.
  @Suite(.timeLimit(.minutes(5)))
  struct MemoryFleetTests {
    @Test
    func `Schedules, sleeps and time limits of days pass at once`() async throws {
      let test = StoreContext(.memory)
      let clock = ManualClock()
      let store = MemoryFleetStore(clock: clock)
      let fleet = Fleet(store)
      let order = Chain("order") { (_: Int) in
        try await step("cool down", sleep: .seconds(30 * 86_400))
        return 1
      }
      fleet.register(order)
      fleet.register(Work.self)
      try await fleet.schedule("daily", cron: "0 3 * * *", Work.script(last: 2) { id, _, _ in test.journal.add(id) })
      try await clock.run {
        try await fleet.enqueue(order, 1, id: "a")
        let token = CancellationToken()
        async let working: Void = fleet.work(until: token)
        #expect(try await fleet.result(of: "a", as: order) == 1)
        token.cancel()
        try await working
      }
      #expect(store.now == Date(timeIntervalSince1970: 1_767_225_600 + 30 * 86_400))
      #expect(test.journal.all.count == 30)
      #expect(test.journal.all.first == "daily@2026-01-01T03:00:00Z")
      #expect(clock.sleeperCount == 0)
    }

    @Test
    func `What needs PostgreSQL is refused`() async throws {
      let fleet = Fleet(MemoryFleetStore(clock: ManualClock()))
      await #expect(throws: FleetError.needsPostgres(call: "enqueue(_:options:through:)")) {
        try await fleet.enqueue([(id: "a", progression: Work.script())]) { _ in }
      }
      #expect(fleet.schemaSQL.hasPrefix("--"))
    }
  }
#endif
