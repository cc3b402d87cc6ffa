// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// A database that forgot what it had promised, or that did more than it answered: it was restored from a backup, a
  /// standby without the last transactions was promoted, or a commit waited for a standby.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct RestoreFaultTests {
    let test = TestFleet()
    let limit = Duration.seconds(30)

    private func claim(_ fleet: Fleet) async throws -> ClaimedRow {
      let types = Array(fleet.registrations.withLock { $0.values })
      let worker = try await fleet.registerWorker(within: limit)
      return try #require(try await fleet.claim(1, as: worker, knowing: [], of: types, within: limit).first)
    }

    /// Makes the database that of the time before a claim.
    private func restore(_ fleet: Fleet, before claim: ClaimedRow) async throws {
      for sql in [
        "DELETE FROM @.workers",
        "UPDATE @.jobs SET state = 'queued', worker = NULL, fence = 0, attempt = 0",
        "SELECT setval('@.fences', \(claim.fence), false)",
      ] { try await fleet.database.run(sql) }
    }

    @Test
    func `A worker from before a restore keeps no lease and writes nothing`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(Work.script(), id: "a")
      func save(_ row: ClaimedRow, _ stage: String) async throws -> Bool {
        try await fleet.store([row.save(stage, version: 2)], within: limit) == [true]
      }
      let earlier = try await claim(fleet)
      try await restore(fleet, before: earlier)
      let later = try await claim(fleet)
      #expect(later.fence == earlier.fence)
      #expect(try await !fleet.renewLease(of: earlier.claim.worker, within: limit))
      #expect(try await !save(earlier, "{\"earlier\":1}"))
      #expect(try await save(later, "{}"))
      // A repeated save is stored already, but not where another worker has stored the same.
      #expect(try await save(later, "{}"))
      #expect(try await !save(earlier, "{}"))
      #expect(try await !save(later, "{\"other\":1}"))
      let failure = Ending(state: .failed, error: "an error")
      #expect(try await fleet.store([EndedAttempt(claim: earlier.claim, ending: failure)], within: limit) == [false])
      #expect(try await fleet.database.run("SELECT stage FROM @.jobs").first?.text(0) == "{}")
    }

    @Test
    func `A chain stores no entry of a worker from before a restore, and none after one that was lost`() async throws {
      let fleet = test.fleet()
      let chain = Chain("order") { (count: Int) in try await step("reserve") { count } }
      fleet.register(chain)
      try await fleet.enqueue(chain, 1, id: "a")
      func append(_ row: ClaimedRow, _ number: Int64, _ entry: String = "") async throws -> Bool {
        let save = EntrySave(claim: row.claim, number: number, entry: Array(entry.utf8), signals: [])
        return try await fleet.store([save], within: limit) == [true]
      }
      let earlier = try await claim(fleet)
      for number in Int64(2)...4 { #expect(try await append(earlier, number)) }
      try await restore(fleet, before: earlier)
      try await fleet.database.run("DELETE FROM @.entries WHERE number = 4")
      let later = try await claim(fleet)
      #expect(later.fence == earlier.fence)
      #expect(try await !append(earlier, 4, "earlier"))
      // An entry that is stored again is stored.
      for _ in 0..<2 { #expect(try await append(later, 4)) }
      #expect(try await append(later, 5))
      // The standby that was promoted has the claim, and not the last entry.
      try await fleet.database.run("DELETE FROM @.entries WHERE number = 5")
      #expect(try await !append(later, 6))
    }

    /// Orders 100 to 119 begin before the backup; 120 to 139 are first claimed after it, with the same fencing numbers in
    /// the time that is lost and in the one that is not.
    @Test(.enabled(if: TestServer.canBackUp, "pg_basebackup is not installed"))
    func `Each order ends once after a restore, beside workers from before it`() async throws {
      let server = try await TestServer()
      let fleet = test.fleet(server: server.connectionString)
      let workers = WorkerProcesses(server.connectionString, schema: test.schema, lease: 60, slots: 4)
      let name = "chain crash order"
      func enqueue(_ ids: Range<Int>, priority: Int) async throws {
        for id in ids {
          let order = CrashOrder(journal: workers.journal, rounds: 200_000, fails: id % 3 == 0)
          try await fleet.enqueue(CrashOrder.chain, order, id: "\(id)", options: FleetOptions(priority: priority))
        }
      }
      func approve(_ ids: Range<Int>) async throws {
        for id in ids { try await fleet.send(id, to: "\(id)", signal: "approval", id: "approval of \(id)") }
      }
      func waitForEnds(of ids: Range<Int>) async throws {
        try await waitUntil("orders \(ids) have ended") {
          try await fleet.statuses(of: ids.map { "\($0)" }).allSatisfy(\.state.isFinal)
        }
      }
      /// The limit for the wait is stored before it begins.
      func waitForWaits(of ids: Range<Int>) async throws {
        let waiting = """
          SELECT count(DISTINCT job) FROM @.entries
          WHERE job >= $1 AND job < $2 AND position('approval'::bytea IN entry) > 0
          """
        try await waitUntil("orders \(ids) wait") {
          let bounds = [PostgresValue.text("\(ids.lowerBound)"), .text("\(ids.upperBound)")]
          return try await fleet.database.run(waiting, bounds).first?.integer(0) == Int64(ids.count)
        }
      }
      /// The fencing numbers with which orders are running.
      func claims() async throws -> Set<String> {
        let rows = try await fleet.database.run(
          "SELECT id || ' ' || fence FROM @.jobs WHERE id >= '120' AND state = 'running'"
        )
        return Set(rows.compactMap { $0.text(0) })
      }
      try await enqueue(100..<120, priority: 0)
      try await approve(100..<105)
      let eldest = try (0..<2).map { _ in try workers.launch() }
      /// Lets one new worker claim the orders from 120 on, in their order, and then all others work.
      func claimInOrder() async throws -> Set<String> {
        for worker in eldest { workers.signal(worker, SIGSTOP) }
        // What they have sent before may otherwise be executed when the name is resumed.
        try await waitUntil("the stopped workers have no connections") {
          try await fleet.database.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ANY ($1)",
            [.texts(eldest.map { "\($0)" })]
          ).isEmpty
        }
        try workers.launch()
        try await fleet.resume(name)
        try await waitForWaits(of: 120..<130)
        let claims = try await claims()
        for worker in eldest { workers.signal(worker, SIGCONT) }
        try workers.launch()
        return claims
      }
      try await waitForEnds(of: 100..<105)
      try await waitForWaits(of: 105..<120)
      try await fleet.pause(name)
      try await enqueue(120..<140, priority: 1)
      let fence = try await fleet.database.run("SELECT last_value FROM @.fences").first?.integer(0) ?? 0
      try await server.backUp()

      let earlier = try await claimInOrder()
      try await approve(110..<120)
      try await approve(130..<140)
      try await waitForEnds(of: 110..<120)
      try await waitForEnds(of: 130..<140)
      try await server.restore()

      // Who stores an entry or an outcome is the worker that has the job.
      for sql in [
        "SELECT setval('@.fences', \(fence))", "CREATE TABLE @.strays (job text, number bigint)",
        """
        CREATE FUNCTION @.audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO @.strays SELECT NEW.job, NEW.number FROM @.jobs j JOIN @.workers w ON w.id = j.worker
          WHERE j.id = NEW.job AND w.name <> current_setting('application_name');
          RETURN NEW;
        END $$
        """,
        "CREATE TRIGGER audit AFTER INSERT OR UPDATE ON @.entries FOR EACH ROW EXECUTE FUNCTION @.audit()",
      ] { try await fleet.database.run(sql) }
      let later = try await claimInOrder()
      #expect(!earlier.isDisjoint(with: later), "\(earlier) \(later)")
      try await approve(105..<140)
      try await waitForEnds(of: 100..<140)
      let statuses = try await fleet.statuses(of: (100..<140).map { "\($0)" })
      let ledger = try Ledger(workers.journal)
      let violations = statuses.flatMap { ledger.violations(of: $0) } + ledger.overlaps
      #expect(statuses.count == 40 && violations.isEmpty, "\(violations)")
      let strays = try await fleet.database.run("SELECT job || ' ' || number FROM @.strays").compactMap { $0.text(0) }
      #expect(strays.isEmpty, "\(strays)")
    }

    @Test
    func `A busy worker returns a job whose claim was committed too late`() async throws {
      let isRunning = Once<Void>()
      let mayEnd = Once<Void>()
      let work = Work.script(last: 2) { id, _, _ in
        guard id == "busy" else { return }
        isRunning.settle(())
        _ = await mayEnd.value()
      }
      let (worker, fleet) = (test.fleet(slots: 1), test.fleet())
      worker.register(Work.self)
      try await fleet.enqueue(work, id: "busy")
      try await test.withWorkers([worker]) { () async throws in
        try await isRunning.value(of: "the job that takes the slot")
        try await fleet.enqueue(work, id: "late")
        try await fleet.database.run(
          "UPDATE @.jobs SET state = 'running', attempt = 1, worker = (SELECT id FROM @.workers), fence = nextval('@.fences') WHERE id = 'late'"
        )
        try await fleet.waitForState(.queued, of: "late")
        #expect(try await fleet.status(of: "late")?.attempt == 0)
        #expect(try await fleet.status(of: "busy")?.state == .running)
        mayEnd.settle(())
        #expect(try await fleet.result(of: "late", as: Work.self) == 2)
      }
    }

    @Test
    func `A worker that drains returns a job whose claim it never heard of`() async throws {
      let (worker, fleet) = (test.fleet(poll: .seconds(60)), test.fleet())
      worker.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      try await test.withWorkers([worker]) { () async throws in
        try await waitUntil("the worker has its lease") { try await fleet.workers().count == 1 }
        try await fleet.enqueue(Work.script(), id: "late", options: FleetOptions(start: .after(.seconds(3_600))))
        try await fleet.database.run(
          "UPDATE @.jobs SET state = 'running', attempt = 1, worker = (SELECT id FROM @.workers), fence = nextval('@.fences')"
        )
      }
      let status = try #require(try await fleet.status(of: "late"))
      #expect(status.state == .queued && status.attempt == 0, "\(status)")
    }

    @Test
    func `A worker registers again when a fencing number is issued twice`() async throws {
      let (isRunning, registrations) = (Once<Void>(), Journal())
      let work = Work.script(last: 2) { id, _, _ in
        guard id == "early", isRunning.settle(()) else { return }
        try await Task.sleep(for: .seconds(3_600))
      }
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "early")
      try await test.withWorkers([fleet]) {
        if case .registered(let worker) = $0 { registrations.add("\(worker)") }
      } _: { () async throws in
        try await isRunning.value(of: "the first job")
        try await fleet.database.run("SELECT setval('@.fences', (SELECT fence FROM @.jobs), false)")
        try await fleet.enqueue(work, id: "late")
        for id in ["early", "late"] { #expect(try await fleet.result(of: id, as: Work.self) == 2) }
      }
      #expect(Set(registrations.all).count == 2)
    }

    @Test
    func `A claim tells what the worker knows only after an answer was lost`() {
      var machine = WorkerMachine(slots: 2)
      machine.registered(7)
      var known = [machine.claimSent()]
      _ = machine.claimed([(fence: 1, id: "a", isCancellationRequested: false)], by: 7)
      machine.claimOver(isAnswered: true)
      machine.found([1])
      known.append(machine.claimSent())
      machine.claimOver(isAnswered: false)
      known.append(machine.claimSent())
      _ = machine.claimed([(fence: 2, id: "b", isCancellationRequested: false)], by: 7)
      machine.claimOver(isAnswered: true)
      #expect(machine.claimable() == nil)
      machine.found([1, 2, 3])
      #expect(machine.claimable()?.count == 0)
      known += [machine.claimSent(), machine.claimSent()]
      #expect(known == [nil, nil, [1], [1, 2], nil])
    }

    @Test
    func `A claim without an answer is followed by one of half its size`() {
      var machine = WorkerMachine(slots: 5)
      machine.registered(7)
      var sizes: [Int?] = []
      for isAnswered in [false, false, false, true, true, true, true] {
        sizes.append(machine.claimable()?.count)
        _ = machine.claimSent()
        machine.claimOver(isAnswered: isAnswered)
      }
      #expect(sizes == [5, 2, 1, 1, 2, 3, 4])
      #expect(machine.claimable()?.count == 5)
    }

    @Test
    func `work reports a permanent refusal and throws it`() async throws {
      for sql in ["DROP TABLE @.limits", "ALTER TABLE @.workers RENAME COLUMN lease_until TO until"] {
        let test = TestFleet()
        let fleet = test.fleet()
        fleet.register(Work.self)
        let worker = FleetWorker(fleet, fleet.registrations.withLock { $0 })
        try await worker.declareLimits()
        try await fleet.database.run(sql)
        let events = Journal()
        let bare = Fleet(server ?? "", configuration: fleet.configuration)
        await #expect(throws: PostgresError.self) {
          try await bare.work { event in
            switch event {
            case .claimFailed: events.add("claim")
            case .heartbeatFailed: events.add("heartbeat")
            default: break
            }
          }
        }
        #expect(!events.all.isEmpty)
      }
    }

    @Test(arguments: ["save_stages", "append_entries", "end_attempts"])
    func `A refused write ends the worker, and its jobs are queued again`(function: String) async throws {
      let fleet = test.fleet()
      let retry = RetryPolicy(maxAttempts: 1, backoff: .none)
      let chain = Chain("order") { (count: Int) in try await step("reserve") { count } }
      fleet.register(Work.self, retry: retry)
      fleet.register(chain, retry: retry)
      let work = Work.script(last: 2) { _, _, _ in
        if function == "end_attempts" { throw Failure(text: "failed") }
      }
      if function == "append_entries" {
        try await fleet.enqueue(chain, 1, id: "a")
      } else {
        try await fleet.enqueue(work, id: "a")
      }
      try await fleet.database.run(
        "DO $$ BEGIN EXECUTE 'ALTER FUNCTION ' || '@.\(function)'::regproc || ' RENAME TO gone'; END $$"
      )
      await #expect(throws: PostgresError.self) { try await fleet.work() }
      let status = try #require(try await fleet.status(of: "a"))
      #expect(status.state == .queued && status.attempt == 0, "\(status)")
    }

    @Test
    func `A checkpoint's lease from before a restore is lost`() async throws {
      let store = PostgresCheckpointStore(server ?? "", schema: test.schema)
      let database = PostgresDatabase(server ?? "", schema: test.schema, maxConnections: 1)
      let earlier = try await store.acquire("a")
      for sql in ["DELETE FROM @.checkpoints", "SELECT setval('@.fences', 1, false)"] { try await database.run(sql) }
      let later = try await store.acquire("a")
      await #expect(throws: CheckpointError.self) { try await store.renew(earlier) }
      _ = try await store.renew(later)
    }
  }

  extension ClaimedRow {
    /// A save of the job's next stage.
    func save(_ stage: String, version: Int64) -> StageSave {
      StageSave(claim: claim, version: version, shape: 0, stage: stage, isLast: false)
    }
  }
#endif
