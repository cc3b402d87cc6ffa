// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// Jobs whose waits are over continue, also when their worker stops in that moment.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct LostJobTests {
    enum Wait: CaseIterable, Sendable { case sleep, signal, oneOfTwo }

    let test = TestFleet()
    let journal = Journal()

    private func order(_ wait: Wait) -> Chain<Int, Int> {
      Chain("order") { [journal] (n: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        switch wait {
        // Longer than it takes a busy machine to give the slot to another job.
        case .sleep: try await step("cool", sleep: .seconds(12))
        case .signal: try await step("approval", waitFor: Int.self)
        case .oneOfTwo:
          async let packed: Void = step("packed") {
            try await step("pack", waitFor: Int.self)
            journal.add("pack")
          }
          async let approved = step("approval", waitFor: Int.self)
          _ = try await (packed, approved)
        }
        try await step("ship") { journal.add("ship") }
        return n
      }
    }

    // G102
    @Test(arguments: Wait.allCases)
    func `A run whose wait is over is queued when its worker drains while it waits for a slot`(wait: Wait) async throws
    {
      let (first, second) = (test.fleet(slots: 1), test.fleet(slots: 1))
      let order = order(wait)
      for fleet in [first, second] { fleet.register(order) }
      first.register(Work.self)
      try await first.enqueue(order, 1, id: "order-7")
      let worker = FleetWorker(first, first.registrations.withLock { $0 })
      let token = CancellationToken()
      let drained = Once<Void>()
      _ = spawn {
        try? await worker.run(until: token)
        drained.settle(())
      }
      let release = Once<Void>()
      let busy = Work.script(last: 2) { _, _, _ in
        journal.add("busy")
        await release.valueIgnoringCancellation()
      }
      try await waitUntil("the order is parked") { worker.state.withLock { $0.machine.parkedCount } == 1 }
      try await first.enqueue(busy, id: "busy")
      try await waitUntil("the slot is taken") { journal.count("busy") == 1 }
      if wait == .signal { try await first.send(1, to: "order-7", signal: "approval") }
      if wait == .oneOfTwo { try await first.send(1, to: "order-7", signal: "pack") }
      try await waitUntil("the order waits for the slot") { worker.state.withLock { !$0.wakers.isEmpty } }
      token.cancel()
      try await first.waitForState(.queued, of: "order-7")
      release.settle(())
      try await drained.value(of: "the worker drains")
      try await test.withWorkers([second]) { () async throws in
        if wait == .oneOfTwo {
          try await waitUntil("what can continue has continued") { journal.count("pack") == 1 }
          try await second.send(1, to: "order-7", signal: "approval")
        }
        #expect(try await second.result(of: "order-7", as: order) == 1)
      }
      #expect(journal.all.filter { $0 != "busy" && $0 != "pack" } == ["reserve", "ship"])
    }

    @Test
    func `A parked run of which something works again waits for nothing`() {
      var waits = DurableWaits()
      let begun = [waits.begin("a"), waits.begin("b")]
      let parks = [
        waits.wait(DurableWait(end: 1), at: "a"), waits.wait(DurableWait(end: nil, signals: ["s"]), at: "b"),
      ]
      #expect(begun == [false, false] && parks == [false, true])
      #expect(waits.pending.count == 2)
      let wasParked = waits.resume("a")
      #expect(wasParked && waits.pending.isEmpty && waits.all.count == 1)
      waits.unparked()
      #expect(waits.pending.count == 1)
    }

    @Test
    func `The database schedules no job for no time at all`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(Work.script(), id: "job")
      await #expect(throws: PostgresError.self) {
        try await fleet.database.run("UPDATE @.jobs SET state = 'scheduled', run_at = 'infinity', waits_for = '{}'")
      }
      await #expect(throws: FleetError.self) {
        try await fleet.enqueue(
          Work.script(),
          id: "never",
          options: FleetOptions(start: .at(Date(timeIntervalSince1970: .infinity)))
        )
      }
      // A worker of an earlier version ends an attempt so.
      let worker = try await fleet.registerWorker(within: .seconds(10))
      let claimed = try await fleet.claim(
        1,
        as: worker,
        knowing: nil,
        of: Array(fleet.registrations.withLock { $0 }.values),
        within: .seconds(10)
      )
      let claim = try #require(claimed.first).claim
      let ending = Ending(state: .scheduled, waitsFor: [], end: .infinity, isUncounted: true)
      #expect(try await fleet.store([EndedAttempt(claim: claim, ending: ending)], within: .seconds(10)) == [true])
      #expect(try await fleet.status(of: "job")?.state == .queued)
    }

    @Test
    func `The migration queues the jobs that an earlier version lost, and wakes parents of children that have ended`()
      async throws
    {
      let fleet = test.fleet()
      try await fleet.enqueue(Work.script(), id: "lost")
      let undone = [
        "ALTER TABLE @.jobs DROP CONSTRAINT jobs_scheduled_for_something, DROP COLUMN is_parked, DROP COLUMN deaths",
        "ALTER TABLE @.workers DROP COLUMN renewed_at", "ALTER TABLE @.signals DROP COLUMN refusal",
        "DELETE FROM @.migrations WHERE step > 0",
        "UPDATE @.jobs SET state = 'scheduled', run_at = 'infinity', waits_for = '{}'",
        """
        INSERT INTO @.jobs (id, name, priority, state, run_at, keeps_stages, first_shape, first, shape, finished_at)
        SELECT v.id, 'x', 0, v.state, now(), true, 0, '', 0, v.ended
        FROM (VALUES ('parent', 'waiting', NULL), ('child', 'done', now())) AS v(id, state, ended)
        """,
        "INSERT INTO @.waits VALUES ('child', 'parent', 0)",
      ]
      for statement in undone { try await fleet.database.run(statement) }
      let next = test.fleet()
      #expect(try await next.status(of: "lost")?.state == .queued)
      _ = try await next.sweep(within: .seconds(10))
      #expect(try await next.status(of: "parent")?.state == .queued)
    }

    @Test
    func `An order that only waits loses no attempt when its workers die`() async throws {
      let fleet = test.fleet()
      // A busy machine may not renew a shorter lease in time, and an order that works then loses an attempt.
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 6, slots: 2, attempts: 2)
      let order = CrashOrder(journal: workers.journal, rounds: 5_000, fails: false)
      try await fleet.enqueue(CrashOrder.chain, order, id: "7")
      for _ in 0..<4 {
        let worker = try workers.launch()
        try await waitUntil("the order is parked") { try await parkingWorkers(of: "7", in: fleet) == ["\(worker)"] }
        #expect(try await fleet.status(of: "7")?.attempt == 1)
        try await workers.kill(worker)
      }
      try await fleet.send(7, to: "7", signal: "approval")
      try workers.launch()
      #expect(try await fleet.result(of: "7", as: CrashOrder.chain) != 0)
    }

    /// The names of the workers that keep a parked job.
    private func parkingWorkers(of id: String, in fleet: Fleet) async throws -> [String] {
      let parking = """
        SELECT w.name FROM @.jobs j JOIN @.workers w ON w.id = j.worker
        WHERE j.id = $1 AND j.is_parked AND j.state = 'running'
        """
      return try await fleet.database.run(parking, [.text(id)]).compactMap { $0.text(0) }
    }

    /// How many attempts at the only job of a fleet were deaths.
    private func deaths(in fleet: Fleet) async throws -> Int64? {
      try await fleet.database.run("SELECT deaths FROM @.jobs").first?.integer(0)
    }

    /// Claims the only job of a fleet for a worker of its own.
    private func claim(in fleet: Fleet) async throws -> ClaimedRow {
      let (worker, types) = (
        try await fleet.registerWorker(within: .seconds(10)), Array(fleet.registrations.withLock { $0 }.values)
      )
      try await fleet.database.run("UPDATE @.jobs SET run_at = now() WHERE state = 'scheduled'")
      return try #require(try await fleet.claim(1, as: worker, knowing: nil, of: types, within: .seconds(10)).first)
    }

    @Test(arguments: [true, false]
    )
    func `Deaths before a wait do not count once the job waits, and its errors do`(isStopped: Bool) async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(Work.script(), id: "job")
      var row = try await claim(in: fleet)
      let failed = Ending(state: .queued, error: "it failed")
      _ = try await fleet.store([EndedAttempt(claim: row.claim, ending: failed)], within: .seconds(10))
      for attempt in 2...4 {
        row = try await claim(in: fleet)
        #expect(row.attempt == attempt)
        #expect(try await deaths(in: fleet) == Int64(attempt - 2))
        try await fleet.endLease(of: row.claim.worker, within: .seconds(10))
        let error = try await fleet.status(of: "job")?.error
        #expect(
          error == "The worker died, or could not reach the server, during attempt \(attempt) of this stage."
        )
      }
      row = try await claim(in: fleet)
      #expect(row.attempt == 5)
      #expect(try await deaths(in: fleet) == 3)
      if isStopped {
        let ending = Ending(state: .scheduled, waitsFor: ["signal"], end: .infinity, isUncounted: true)
        #expect(try await fleet.store([EndedAttempt(claim: row.claim, ending: ending)], within: .seconds(10)) == [true])
        #expect(try await fleet.status(of: "job")?.attempt == 1)
      } else {
        #expect(try await fleet.store([ParkedJob(claim: row.claim)], within: .seconds(10)) == [true])
        #expect(try await fleet.status(of: "job")?.attempt == 2)
        #expect(try await fleet.status(of: "job")?.error == nil)
        // Any number of deaths while it is parked.
        for _ in 0..<7 {
          try await fleet.endLease(of: row.claim.worker, within: .seconds(10))
          #expect(try await fleet.status(of: "job")?.state == .queued)
          row = try await claim(in: fleet)
          #expect(row.attempt == 2)
          #expect(try await fleet.store([ParkedJob(claim: row.claim)], within: .seconds(10)) == [true])
        }
        // It works again.
        #expect(try await fleet.store([row.save("{}", version: 2)], within: .seconds(10)) == [true])
        try await fleet.endLease(of: row.claim.worker, within: .seconds(10))
        #expect(try await fleet.status(of: "job")?.attempt == 1)
        #expect(try await deaths(in: fleet) == 1)
      }
    }

    @Test
    func `A lease that ended while the server did not run counts for no job`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      try await fleet.enqueue(Work.script(), id: "job")
      let row = try await claim(in: fleet)
      try await fleet.database.run("UPDATE @.workers SET renewed_at = pg_postmaster_start_time() - interval '1 second'")
      try await fleet.endLease(of: row.claim.worker, within: .seconds(10))
      let status = try await fleet.status(of: "job")
      #expect(status?.state == .queued && status?.attempt == 0 && status?.error == nil)
    }
  }
#endif
