// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetWorkTests {
    let test = TestFleet()
    let retry = RetryPolicy(maxAttempts: 3, backoff: .none)

    @Test
    func `A stage that exceeds its time limit is cancelled and repeated`() async throws {
      let journal = Journal()
      let work = Work.script(last: 4) { _, step, attempt in
        journal.add("\(step).\(attempt)")
        if step == 2, attempt == 1 { try await untilCancelled() }
      }
      let fleet = test.fleet()
      fleet.register(Work.self, retry: retry, limits: FleetLimits(stageTime: .seconds(3)))
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "a", as: Work.self) == 4)
      }
      #expect(journal.all == ["1.1", "2.1", "2.2", "3.1"])
    }

    @Test
    func `A job that exceeds its time limit is dead-lettered without a retry`() async throws {
      let journal = Journal()
      let work = Work.script { _, _, attempt in
        journal.add("\(attempt)")
        try await untilCancelled()
      }
      let fleet = test.fleet()
      fleet.register(Work.self, retry: retry, limits: FleetLimits(jobTime: .milliseconds(300)))
      try await fleet.enqueue(work, id: "a")
      try await fleet.enqueue(work, id: "b")
      // It began long ago, in another worker.
      try await fleet.database.run("UPDATE @.jobs SET started_at = now() - interval '1 hour' WHERE id = 'b'")
      try await test.withWorkers([fleet]) { () async throws in
        for id in ["a", "b"] { try await fleet.waitForState(.failed, of: id) }
      }
      for id in ["a", "b"] {
        #expect(try await fleet.status(of: id)?.error?.contains("time limit of 0.3 seconds") == true)
      }
      #expect(journal.count("1") <= 2 && journal.all.allSatisfy { $0 == "1" })
    }

    @Test
    func `An error that is not retryable dead-letters the job at once`() async throws {
      let work = Work.script { id, _, attempt in throw Failure(text: "\(id) \(attempt)") }
      let fleet = test.fleet()
      fleet.register(Work.self, retry: retry) { error in (error as? Failure)?.text.hasPrefix("bad") == false }
      try await fleet.enqueue(work, id: "bad")
      try await fleet.enqueue(work, id: "good")
      try await test.withWorkers([fleet]) { () async throws in
        for id in ["bad", "good"] { try await fleet.waitForState(.failed, of: id) }
      }
      #expect(try await fleet.status(of: "bad")?.error == "bad 1")
      #expect(try await fleet.status(of: "good")?.error == "good 3")
    }

    @Test
    func `Workers prune what ended before the retention, except dead letters`() async throws {
      let fleet = test.fleet(retention: .seconds(3_600))
      try await fleet.enqueue(["old", "new", "dead", "queued"].map { (id: $0, progression: Work.script()) })
      for (id, state, age) in [("old", "done", "2 hours"), ("new", "done", "1 minute"), ("dead", "failed", "2 hours")] {
        try await fleet.database.run(
          "UPDATE @.jobs SET state = '\(state)', finished_at = now() - interval '\(age)' WHERE id = '\(id)'"
        )
      }
      let pruned = Once<Int>()
      try await test.withWorkers([fleet], onEvent: { if case .pruned(let count) = $0 { pruned.settle(count) } }) {
        () async throws in #expect(try await pruned.value(of: "the removal of a job") == 1)
      }
      #expect(try await fleet.jobs().jobs.map(\.id) == ["dead", "new", "queued"])
    }

    @Test
    func `A lost lease is reported with the jobs that it cancels`() async throws {
      let (hasStarted, lost) = (Once<Void>(), Once<[String]>())
      let work = Work.script(last: 2) { _, _, _ in if hasStarted.settle(()) { try await untilCancelled() } }
      let fleet = test.fleet(lease: .seconds(6))
      fleet.register(Work.self, retry: retry)
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet], onEvent: { if case .leaseLost(let ids) = $0 { lost.settle(ids) } }) {
        () async throws in
        await hasStarted.valueIgnoringCancellation()
        try await fleet.database.run("UPDATE @.workers SET lease_until = '-infinity'")
        #expect(try await lost.value(of: "the loss of the lease") == ["a"])
        #expect(try await fleet.result(of: "a", as: Work.self) == 2)
      }
    }

    @Test
    func `The next job runs while the end of the one before is stored`() async throws {
      let (hasStarted, mayEnd, next) = (Once<Void>(), Once<Void>(), Once<String>())
      let work = Work.script(last: 2) { id, _, _ in
        if !hasStarted.settle(()) { next.settle(id) }
        await mayEnd.valueIgnoringCancellation()
      }
      let fleet = test.fleet(slots: 1)
      fleet.register(Work.self)
      for id in ["a", "b"] { try await fleet.enqueue(work, id: id) }
      try await test.withWorkers([fleet]) { () async throws in
        await hasStarted.valueIgnoringCancellation()
        let open = PostgresPool(server ?? "", size: 1)
        for sql in ["BEGIN", fleet.database.schema.statement("SELECT FROM @.jobs WHERE id = 'a' FOR UPDATE")] {
          _ = try await open.run(sql, [], within: .seconds(30))
        }
        mayEnd.settle(())
        #expect(try await next.value(of: "the next job") == "b")
        #expect(try await fleet.status(of: "a")?.state == .running)
        _ = try await open.run("COMMIT", [], within: .seconds(30))
        #expect(try await fleet.result(of: "a", as: Work.self) == 2)
      }
    }

    @Test
    func `Events report registrations, claims, saves and failed attempts`() async throws {
      let journal = Journal()
      let work = Work.script { id, step, attempt in
        if id == "bad", step == 1, attempt == 1 { throw Failure(text: "once") }
      }
      let fleet = test.fleet(slots: 1)
      fleet.register(Work.self, retry: retry)
      try await fleet.enqueue(work, id: "bad")
      // A worker that died, with a job.
      try await fleet.enqueue(work, id: "left", options: FleetOptions(priority: -1))
      try await fleet.database.run(
        "UPDATE @.jobs SET state = 'running', worker = 1, attempt = 0, max_attempts = 5 WHERE id = 'left'"
      )
      try await test.withWorkers([fleet]) { (event: FleetEvent) in
        switch event {
        case .registered: journal.add("registered")
        case .claimed(let ids, let time): journal.add("claimed \(ids) \(time > .zero)")
        case .saved(let id, let count, let isLast): journal.add("saved \(id) \(count) \(isLast)")
        case .ended(let id, _, let state, let attempt, let error):
          // A claim that does not wait for this report is reported before it.
          Thread.sleep(forTimeInterval: 0.3)
          journal.add("ended \(id) \(state) \(attempt) \(error.map { "\($0)" } ?? "")")
        case .freed(let count): journal.add("freed \(count)")
        default: journal.add("\(event)")
        }
      } _: { () async throws in
        for id in ["bad", "left"] { _ = try await fleet.result(of: id, as: Work.self) }
      }
      #expect(journal.all.first == "registered")
      #expect(journal.count("freed 1") == 1)
      #expect(
        journal.all.filter { $0.contains("bad") } == [
          "claimed [\"bad\"] true", "ended bad queued 1 once", "claimed [\"bad\"] true", "saved bad 2 false",
          "saved bad 3 true",
        ]
      )
      #expect(
        journal.all.filter { $0.contains("left") } == [
          "claimed [\"left\"] true", "saved left 2 false", "saved left 3 true",
        ]
      )
    }
  }
#endif
