// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// What an operator asks of a fleet: why a job waits, what failed before, and to run all of them again.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetOperatorTests {
    private static let limit = Duration.seconds(30)
    private static let name = StageCoder<Work>().name

    struct Refused: Error, CustomStringConvertible {
      var description: String
    }

    let test = TestFleet()
    let journal = Journal()

    private func claim(_ fleet: Fleet, as worker: Int64, _ count: Int = 1) async throws -> [ClaimedRow] {
      let types = Array(fleet.registrations.withLock { $0 }.values)
      return try await fleet.claim(count, as: worker, knowing: nil, of: types, within: Self.limit)
    }

    private func end(_ fleet: Fleet, _ row: ClaimedRow, _ ending: Ending) async throws {
      #expect(try await fleet.store([EndedAttempt(claim: row.claim, ending: ending)], within: Self.limit) == [true])
    }

    private func wait(_ fleet: Fleet, _ id: String) async throws -> FleetWait? { try await fleet.status(of: id)?.wait }

    /// Registers a worker that knows a version of the type.
    private func register(_ fleet: Fleet, version: Int64 = 0) async throws -> Int64 {
      try await fleet.registerWorker(knowing: [Self.name], [version], within: Self.limit)
    }

    // G200
    @Test
    func `A job that is not started says what it waits for, since when and until when`() async throws {
      let fleet = test.fleet(slots: 1)
      fleet.register(Work.self)
      let later = FleetOptions(start: .after(.seconds(3_600)))
      try await fleet.enqueue(Work.script(), id: "later", options: later)
      let start = try #require(try await fleet.status(of: "later"))
      #expect(start.wait?.reason == .start && start.wait?.until == start.dueAt)
      #expect(start.wait?.since == start.enqueuedAt)
      try await fleet.enqueue(Work.script(), id: "a")
      try await fleet.enqueue(Work.script(), id: "b")
      #expect(try await wait(fleet, "b")?.reason == .type)
      let worker = try await register(fleet)
      try await fleet.database.run("UPDATE @.jobs SET shape = 3 WHERE id = 'b'")
      let version = try await wait(fleet, "b")
      #expect(version?.reason == .version && version?.details == ["3"])
      try await fleet.database.run("UPDATE @.jobs SET shape = 0 WHERE id = 'b'")
      #expect(try await wait(fleet, "b")?.description == "a slot: 0 of 1 are taken")
      let row = try #require(try await claim(fleet, as: worker).first)
      #expect(row.id == "a")
      #expect(try await wait(fleet, "a") == nil)
      let slot = try #require(try await fleet.status(of: "b"))
      #expect(slot.wait?.description == "a slot: 1 of 1 are taken" && slot.wait?.until == nil)
      #expect(slot.wait?.since == slot.enqueuedAt)
      try await fleet.database.run(
        "INSERT INTO @.limits (name, running, running_per_key) VALUES ($1, 1, 1)",
        [.text(Self.name)]
      )
      #expect(try await wait(fleet, "b")?.description == "a limit of its name: 1 run, of 1 at most")
      try await fleet.database.run("UPDATE @.limits SET running = 2")
      try await fleet.database.run("UPDATE @.jobs SET key = 'k' WHERE id IN ('a', 'b')")
      #expect(try await wait(fleet, "b")?.details == ["1 with the key k run, of 1 at most"])
      let begun = Date()
      try await fleet.database.run(
        "UPDATE @.limits SET running_per_key = NULL, rate = 6, period = 60, tokens = 0, refilled_at = clock_timestamp()"
      )
      let rate = try #require(try await wait(fleet, "b"))
      let end = try #require(rate.until)
      // A token comes each 10 s.
      #expect(rate.reason == .limit && end >= begun + 9.9 && end <= Date() + 10.1)
      try await fleet.database.run("DELETE FROM @.limits")
      try await fleet.pause(Self.name)
      #expect(try await wait(fleet, "b")?.reason == .pause)
      try await fleet.resume(Self.name)
      try await fleet.pause(job: "b")
      let paused = try #require(try await fleet.status(of: "b"))
      #expect(paused.wait?.reason == .jobPause && paused.wait?.since == paused.pausedAt && paused.dueAt == slot.dueAt)
    }

    // G200
    @Test
    func `A job that has begun says what it waits for, parked or not`() async throws {
      let fleet = test.fleet(slots: 8)
      fleet.register(Work.self)
      try await fleet.enqueue((0..<6).map { (id: "\($0)", progression: Work.script()) })
      let rows = try await claim(fleet, as: register(fleet), 6)
      #expect(rows.count == 6)
      let end = (Date().timeIntervalSince1970 + 3_600).rounded()
      let parked = [
        ParkedJob(claim: rows[0].claim, signals: ["approval", "refusal"]), ParkedJob(claim: rows[1].claim, end: end),
      ]
      #expect(try await fleet.store(parked, within: Self.limit) == [true, true])
      let wait = Ending(state: .scheduled, waitsFor: ["approval"], end: end, isUncounted: true)
      try await self.end(fleet, rows[2], wait)
      try await self.end(fleet, rows[3], Ending(state: .scheduled, waitsFor: [], end: end, isUncounted: true))
      try await self.end(fleet, rows[4], Ending(state: .scheduled, delay: .seconds(3_600), error: "busy"))
      try await self.end(fleet, rows[5], Ending(state: .waiting, waitsFor: ["0", "1"], isUncounted: true))
      let waits = try await fleet.jobs().jobs.map(\.wait)
      #expect(waits.map { $0?.reason } == [.signal, .sleep, .signal, .sleep, .retry, .children])
      #expect(
        waits.map { $0?.details } == [["approval", "refusal"], [], ["approval"], [], [], ["0", "1"]]
      )
      let ends = waits.map { $0?.until?.timeIntervalSince1970 }
      #expect(ends[0] == nil && ends[1] == end && ends[2] == end && ends[3] == end && ends[5] == nil)
      #expect(abs((ends[4] ?? 0) - end) < 60)
      for wait in waits { #expect(abs(wait?.since.timeIntervalSinceNow ?? .infinity) < 60) }
      // What works again does not wait.
      #expect(try await fleet.store([rows[0].save("{}", version: 2)], within: Self.limit) == [true])
      #expect(try await fleet.status(of: "0")?.wait == nil)
    }

    // G201
    @Test
    func `All jobs of a filter are retried, in batches and with their progress`() async throws {
      let fleet = test.fleet()
      let count = 1_234
      let isFixed = Lock(false)
      let work = Work.script { id, _, _ in
        if !isFixed.withLock({ $0 }), id.hasPrefix("bad") { throw Refused(description: "error \(id.count): HTTP 503") }
      }
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      try await fleet.enqueue((0..<count).map { (id: "bad-\($0)", progression: work) })
      try await fleet.enqueue(work, id: "good")
      let filter = FleetFilter(states: [.failed], error: "HTTP 504")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("all have ended") { try await fleet.counts() == [.failed: count, .done: 1] }
        let dry = try await fleet.apply(.retry, to: filter, isDryRun: true)
        #expect(dry.matchedCount == count && dry.applicableCount == count && dry.changedCount == 0)
        #expect(try await fleet.counts()[.failed] == count)
        isFixed.withLock { $0 = true }
        let reports = Lock<[Int]>([])
        let all = try await fleet.apply(.retry, to: filter) { progress in
          reports.withLock { $0.append(progress.changedCount) }
        }
        #expect(all.changedCount == count && all.refusal == nil)
        #expect(reports.withLock { $0 } == [500, 1_000, count])
        try await waitUntil("all are done") { try await fleet.counts() == [.done: count + 1] }
      }
    }

    // G201
    @Test
    func `A filter that matches nothing, or everything, is refused with a count`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue((0..<3).map { (id: "job-\($0)", progression: Work.script()) })
      try await fleet.cancel("job-0")
      func refusal(_ change: FleetChange, _ filter: FleetFilter, all: Bool = false) async throws -> String {
        do {
          try await fleet.apply(change, to: filter, includesAll: all)
          return ""
        } catch FleetError.refused(let reason) { return reason }
      }
      #expect(try await refusal(.retry, FleetFilter(name: "Other")) == "the filter matches 0 jobs")
      for filter in [FleetFilter(), FleetFilter(text: "job"), FleetFilter(age: .zero)] {
        let reason = try await refusal(.cancel(reason: nil), filter)
        #expect(reason == "the filter matches all 3 jobs of the fleet; includesAll, or --all, permits that")
      }
      let reason = try await refusal(.prune, FleetFilter(states: [.queued]))
      #expect(reason == "the filter matches 2 jobs, and they have not ended, or are needed by one that has not")
      #expect(try await fleet.counts() == [.queued: 2, .cancelled: 1])
      let progress = try await fleet.apply(.cancel(reason: "all"), to: FleetFilter(), includesAll: true)
      #expect(progress.changedCount == 2 && progress.refusal == "1 of 3 jobs have ended")
      #expect(try await fleet.apply(.prune, to: FleetFilter(states: [.cancelled], text: "-2")).changedCount == 1)
    }

    // G201
    @Test
    func `Orders that are held are cancelled by a filter and undone, and one that was undone is not`() async throws {
      func order(_ name: String) -> Chain<String, String> {
        Chain(name) { [journal] (item: String) in
          try await step("charge") {
            journal.add("charge \(item)")
          } undo: { _ in
            journal.add("refund \(item)")
          }
          try await step("ship") { throw Refused(description: "no courier") }
          return item
        }
      }
      let (held, undone) = (order("held"), order("undone"))
      let fleet = test.fleet()
      fleet.register(held, onFailure: .hold)
      fleet.register(undone)
      try await fleet.enqueue(held, ["a", "b"].map { (id: $0, input: $0) })
      try await fleet.enqueue(undone, "c", id: "c")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("all have failed") { try await fleet.counts() == [.failed: 3] }
        let states = try await fleet.jobs().jobs
        #expect(states.map(\.isCancellable) == [true, true, false] && states.map(\.isUndone) == [false, false, true])
        #expect(states.map { FleetChange.cancel(reason: nil).refusal(of: $0) == nil } == [true, true, false])
        let progress = try await fleet.apply(
          .cancel(reason: "given up"),
          to: FleetFilter(states: [.failed]),
          includesAll: true
        )
        #expect(progress.changedCount == 2 && progress.refusal == "1 of 3 jobs have ended")
        try await waitUntil("both are undone") { try await fleet.counts() == [.failed: 1, .cancelled: 2] }
      }
      #expect(journal.all.filter { $0.hasPrefix("refund") }.sorted() == ["refund a", "refund b", "refund c"])
    }

    @Test
    func `Jobs that are reprioritised start in their new order`() async throws {
      let fleet = test.fleet(slots: 1)
      let work = Work.script(last: 2) { [journal] id, _, _ in journal.add(id) }
      fleet.register(Work.self)
      for id in ["a", "b", "c"] { try await fleet.enqueue(work, id: id, options: FleetOptions(key: id)) }
      #expect(try await fleet.apply(.reprioritize(5), to: FleetFilter(key: "c")).changedCount == 1)
      #expect(try await fleet.prioritize("b", 2))
      #expect(try await !fleet.prioritize("d", 2))
      try await test.withWorkers([fleet]) { () async throws in try await fleet.waitUntilDone(3) }
      #expect(journal.all == ["c", "b", "a"])
    }

    // G202
    @Test
    func `An order that was undone is run again with its input and other idempotency keys`() async throws {
      let isFixed = Lock(false)
      let order = Chain("order") { [journal] (item: String) in
        try await step("charge") {
          journal.add("charge \(item) \(CurrentStep.idempotencyKey ?? "")")
        } undo: { _ in
          journal.add("refund")
        }
        try await step("ship") { if !isFixed.withLock({ $0 }) { throw Refused(description: "no courier") } }
        return item
      }
      let fleet = test.fleet()
      fleet.register(order)
      try await fleet.enqueue(order, "lamp", id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.failed, of: "order-7")
        let failed = try #require(try await fleet.status(of: "order-7"))
        #expect(failed.isUndone && failed.isRequeueable && FleetChange.retry.refusal(of: failed) == nil)
        isFixed.withLock { $0 = true }
        #expect(try await fleet.requeue("order-7"))
        #expect(try await fleet.result(of: "order-7", as: order) == "lamp")
        #expect(try await !fleet.requeue("order-7"))
        let done = try #require(try await fleet.status(of: "order-7"))
        #expect(FleetChange.retry.refusal(of: done) == "it is done: only a failed or cancelled job can be retried")
      }
      let charges = journal.all.filter { $0.hasPrefix("charge lamp ") }
      #expect(journal.count("refund") == 1 && charges.count == 2 && Set(charges).count == 2)
      let attempts = try await fleet.attempts(of: "order-7")
      #expect(attempts.map(\.outcome) == ["failed", "done"] && attempts[0].error?.contains("no courier") == true)
    }

    // G203
    @Test
    func `Attempts are kept with their worker, times and error, the last ones`() async throws {
      var configuration = test.fleet(slots: 1).configuration
      configuration.workerName = "web-1"
      let fleet = Fleet(server ?? "", configuration: configuration)
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 100, backoff: .none))
      let work = Work.script(last: 2) { _, _, attempt in
        if attempt < 30 { throw Refused(description: String(repeating: "long ", count: 1_000) + "\(attempt)") }
      }
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet]) { () async throws in _ = try await fleet.result(of: "a", as: Work.self) }
      let attempts = try await fleet.attempts(of: "a")
      #expect(attempts.count == OperatorTables.attemptLimit + 1)
      #expect(attempts.dropLast().map(\.number) == Array(10...29))
      #expect(attempts.dropLast().allSatisfy { $0.error?.count == 500 && $0.outcome == "queued" })
      #expect(attempts.allSatisfy { $0.worker == "web-1" && $0.startedAt <= $0.endedAt ?? .distantPast })
      #expect(attempts.last?.outcome == "done" && attempts.last?.error == nil)
      let times = attempts.map(\.startedAt)
      #expect(times == times.sorted())
    }

    // G203
    @Test
    func `The death of a worker is an attempt, and a wait is none`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(Work.script(), id: "a")
      let worker = try await register(fleet)
      let row = try #require(try await claim(fleet, as: worker).first)
      #expect(try await fleet.attempts(of: "a").map(\.outcome) == ["running"])
      try await end(fleet, row, Ending(state: .scheduled, waitsFor: ["s"], end: .infinity, isUncounted: true))
      #expect(try await fleet.attempts(of: "a").isEmpty)
      try await fleet.send(1, to: "a", signal: "s")
      _ = try await claim(fleet, as: worker)
      try await fleet.endLease(of: worker, within: Self.limit)
      let lost = try #require(try await fleet.attempts(of: "a").first)
      #expect(lost.outcome == "lost" && lost.error?.contains("died") == true && lost.worker == "\(worker)")
    }

    @Test
    func `Errors are grouped by their text, whatever the numbers in it`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      let work = Work.script { id, _, _ in
        throw Refused(
          description: id.hasPrefix("disk") ? "disk full" : "host 10.0.3.\(id) timed out\nsecond line \(id)"
        )
      }
      try await fleet.enqueue((0..<30).map { (id: "\($0)", progression: work) })
      try await fleet.enqueue((0..<3).map { (id: "disk-\($0)", progression: work) })
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("all have failed") { try await fleet.counts() == [.failed: 33] }
      }
      let groups = try await fleet.errors()
      #expect(groups.map(\.count) == [30, 3] && groups[0].error.hasSuffix(" timed out") && groups[0].name == Self.name)
      for group in groups {
        let filter = FleetFilter(states: [.failed], name: group.name, error: group.error)
        #expect(try await fleet.apply(.retry, to: filter, isDryRun: true).matchedCount == group.count)
      }
    }

    // G204
    @Test
    func `A job that is paused does not start until it is resumed, whatever ends its wait`() async throws {
      let fleet = test.fleet()
      let work = Work.script { [journal] id, _, _ in journal.add(id) }
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "queued")
      try await fleet.enqueue(work, id: "waits")
      try await fleet.enqueue(work, id: "runs")
      let worker = try await register(fleet)
      // The two that were enqueued last; the first one stays in the queue.
      try await fleet.prioritize("waits", 1)
      try await fleet.prioritize("runs", 1)
      let rows = try await claim(fleet, as: worker, 2)
      let wait = Ending(state: .scheduled, waitsFor: ["s"], end: .infinity, isUncounted: true)
      try await end(fleet, try #require(rows.first { $0.id == "waits" }), wait)
      for id in ["queued", "waits", "runs"] {
        #expect(try await fleet.pause(job: id))
        #expect(try await !fleet.pause(job: id))
      }
      #expect(try await fleet.status(of: "runs")?.state == .running)
      try await end(fleet, try #require(rows.first { $0.id == "runs" }), Ending(state: .queued, isUncounted: true))
      try await fleet.send(1, to: "waits", signal: "s")
      try await fleet.enqueue(work, id: "other")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "other", as: Work.self) == 3)
        for id in ["queued", "waits", "runs"] {
          #expect(try await self.wait(fleet, id)?.reason == .jobPause, "\(id)")
          #expect(try await fleet.resume(job: id))
          #expect(try await !fleet.resume(job: id))
          #expect(try await fleet.result(of: id, as: Work.self) == 3)
        }
      }
      #expect(Array(Set(journal.all)).count == 4)
      #expect(journal.all.prefix(2) == ["other", "other"])
      #expect(try await !fleet.pause(job: "other"))
    }

    @Test
    func `A paused job that is cancelled is undone at once`() async throws {
      let order = Chain("order") { [journal] (n: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: { _ in
          journal.add("undo")
        }
        try await step("approval", waitFor: Int.self)
        return n
      }
      var configuration = test.fleet().configuration
      configuration.maxParked = 0
      let fleet = Fleet(server ?? "", configuration: configuration)
      fleet.register(order)
      try await fleet.enqueue(order, 1, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.scheduled, of: "order-7")
        #expect(try await fleet.pause(job: "order-7"))
        #expect(try await fleet.cancel("order-7"))
        try await fleet.waitForState(.cancelled, of: "order-7")
      }
      #expect(journal.all == ["reserve", "undo"])
    }

    // G205
    @Test
    func `Schedules are listed with their next time, and run now`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.schedule("nightly", cron: "0 3 * * *", Work.script())
      try await fleet.schedule("soon", cron: "* * * * *", timeZone: "Europe/Berlin", Work.script())
      let schedules = try await fleet.schedules()
      #expect(schedules.map(\.name) == ["soon", "nightly"] && schedules[0].nextAt.timeIntervalSinceNow < 61)
      #expect(
        schedules[1].cron == "0 3 * * *" && schedules[1].lastID == nil && schedules[0].timeZone == "Europe/Berlin"
      )
      let ids = [try await fleet.runSchedule("nightly"), try await fleet.runSchedule("nightly")]
      #expect(ids.allSatisfy { $0.hasPrefix("nightly@") } && ids[0] < ids[1])
      #expect(
        try await fleet.schedules().last
          == FleetSchedule(
            name: "nightly",
            cron: "0 3 * * *",
            timeZone: "UTC",
            progression: Self.name,
            nextAt: schedules[1].nextAt,
            lastID: ids[1]
          )
      )
      await #expect(throws: FleetError.self) { try await fleet.runSchedule("other") }
      try await test.withWorkers([fleet]) { () async throws in
        for id in ids { #expect(try await fleet.result(of: id, as: Work.self) == 3) }
      }
    }

    // G206
    @Test
    func `A worker is healthy while it has its lease`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      #expect(fleet.health.problem == "no worker runs in this process")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the worker is healthy") { fleet.health.isHealthy }
        let worker = try #require(fleet.health.worker)
        #expect(try await fleet.workers().map(\.id) == [worker] && !fleet.health.isDraining)
        try await fleet.database.run("UPDATE @.workers SET lease_until = '-infinity'")
        try await waitUntil("the worker has another lease") { fleet.health.worker.map { $0 != worker } == true }
      }
      #expect(!fleet.health.isHealthy)
    }

    // G207
    @Test
    func `A worker all of whose jobs are parked is notified of a new one at once`() async throws {
      let fleet = test.fleet(slots: 2)
      fleet.register(Work.self)
      try await fleet.enqueue((0..<2).map { (id: "\($0)", progression: Work.script()) })
      let worker = try await register(fleet)
      let rows = try await claim(fleet, as: worker, 2)
      let heard = try await test.listen()
      // Notifications arrive in order: the second job's shows that the first one had none.
      await fleet.announce(Self.name, 1)
      #expect(try await fleet.store(rows.map { ParkedJob(claim: $0.claim) }, within: Self.limit) == [true, true])
      await fleet.announce(Self.name, 1)
      try await fleet.database.run("SELECT pg_notify($1, 'end')::text", [.text(test.schema)])
      try await waitUntil("the last notification") { heard.count("end") == 1 }
      #expect(heard.all == ["q\(worker)", "end"])
    }

    // G209
    @Test
    func `The tables of an earlier version are converted with their jobs, and no table is rewritten`() async throws {
      let fleet = test.fleet()
      let (schema, pool) = (fleet.database.schema, PostgresPool(server ?? "", size: 1))
      try await pool.run(schema.script(of: Array(PostgresSchema.steps.prefix(2))))
      func run(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> PostgresRow? {
        try await pool.run(schema.statement(sql), parameters).first
      }
      let encoded = String(decoding: try JSONEncoder().encode(Work.script()), as: UTF8.self)
      _ = try await run(
        """
        INSERT INTO @.jobs (id, name, priority, state, run_at, keeps_stages, first_shape, first, shape, error, finished_at, worker)
        SELECT state, $1, 0, state, now(), true, 0, $2, 0, CASE WHEN state = 'failed' THEN 'disk full' END,
          CASE WHEN state = 'failed' THEN now() END, CASE WHEN state = 'running' THEN 7 END
        FROM unnest('{queued,running,failed}'::text[]) AS s(state)
        """,
        [.text(Self.name), .text(encoded)]
      )
      let file = "SELECT relfilenode::bigint FROM pg_class WHERE oid = '@.jobs'::regclass"
      let before = try await run(file)?.integer(0)
      let steps = try await fleet.migrate()
      #expect(steps.before == 2 && steps.after == PostgresSchema.steps.count)
      #expect(try await run(file)?.integer(0) == before)
      let valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = '@.jobs_active'::regclass"
      #expect(try await run(valid)?.isTrue(0) == true)
      let again = try await fleet.migrate()
      #expect(again.before == again.after)
      #expect(try await wait(fleet, "queued")?.reason == .type)
      #expect(try await fleet.attempts(of: "failed").isEmpty)
      fleet.register(Work.self)
      #expect(try await fleet.apply(.retry, to: FleetFilter(states: [.failed])).changedCount == 1)
      try await test.withWorkers([fleet]) { () async throws in
        for id in ["queued", "failed", "running"] { #expect(try await fleet.result(of: id, as: Work.self) == 3) }
      }
    }

    // G208
    @Test
    func `Statements have the same name on each connection, and no other has it`() async throws {
      let names = ["SELECT 1", "SELECT 2", "SELECT 1 "].map { PostgresPool.name(of: $0) }
      #expect(Set(names).count == 3 && names.allSatisfy { $0.utf8.count < 64 })
      #expect(names[0] == PostgresPool.name(of: "SELECT 1"))
      // Behind a pooler, another client may have prepared the statement on this connection.
      let pool = PostgresPool(server ?? "", size: 1)
      let name = PostgresPool.name(of: "SELECT $1::bigint")
      try await pool.run("DO $$ BEGIN EXECUTE 'PREPARE \"\(name)\" (bigint) AS SELECT $1::bigint'; END $$")
      #expect(try await pool.run("SELECT $1::bigint", [.integer(7)]).first?.integer(0) == 7)
    }
  }
#endif
