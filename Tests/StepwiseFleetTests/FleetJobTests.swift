// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import StepwiseTesting
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetJobTests {
    let test = TestFleet()

    @Test
    func `An id is enqueued once, alone and among many`() async throws {
      let fleet = test.fleet()
      let work = Work.script()
      #expect(try await fleet.enqueue(work, id: "a"))
      #expect(try await !fleet.enqueue(work, id: "a"))
      let many = (0..<12_000).map { (id: "many-\($0)", progression: work) } + [(id: "a", progression: work)]
      #expect(try await fleet.enqueue(many) == 12_000)
      #expect(try await fleet.enqueue(many) == 0)
      #expect(try await fleet.counts() == [.queued: 12_001])
    }

    @Test
    func `Jobs enqueued at once are added once each; a refused one affects none`() async throws {
      let fleet = test.fleet()
      let work = Work.script()
      _ = try await fleet.counts()
      // The server refuses what the fleet cannot know of.
      try await fleet.database.run("ALTER TABLE @.jobs ADD CONSTRAINT refusal CHECK (id <> 'refused')")
      let results = await withTaskGroup(of: (Bool?).self) { group in
        for number in 0..<200 {
          group.addTask {
            try? await fleet.enqueue(
              work,
              id: number == 7 ? "refused" : "\(number % 100)",
              options: FleetOptions(priority: number % 2)
            )
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(results.count { $0 == true } == 100)
      #expect(results.count { $0 == nil } == 1)
      #expect(try await fleet.counts() == [.queued: 100])
      // Each has its own options, whichever statement it is in.
      let jobs = try await fleet.jobs(limit: 100).jobs
      #expect(jobs.allSatisfy { job in Int(job.id).map { $0 % 2 == job.priority } == true })
    }

    @Test
    func `replacing: .finished replaces a finished job, not a pending one`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      let options = FleetOptions(replacing: .finished)
      for options in [options, FleetOptions(keepsStages: false, replacing: .finished)] {
        #expect(try await fleet.enqueue(Work.script(last: 5), id: "a", options: options))
        #expect(try await !fleet.enqueue(Work.script(last: 4), id: "a", options: options))
        try await test.withWorkers([fleet]) { () async throws in
          #expect(try await fleet.result(of: "a", as: Work.self) == 5)
        }
        #expect(try await !fleet.enqueue(Work.script(), id: "a"))
      }
      let two = ["a", "b"].map { (id: $0, progression: Work.script(last: 2)) }
      #expect(try await fleet.enqueue(two, options: options) == 2)
      #expect(try await fleet.history(of: "a").map(\.number) == [1])
      let status = try #require(try await fleet.status(of: "a"))
      #expect(status.attempt == 0 && status.startedAt == nil && status.endedAt == nil && status.state == .queued)
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "a", as: Work.self) == 2)
      }
    }

    @Test
    func `An id that cannot be stored is an error for its whole batch`() async throws {
      let fleet = test.fleet()
      for id in ["", "a\0b", String(repeating: "x", count: 201)] {
        await #expect(throws: FleetError.invalidID(id: id)) {
          try await fleet.enqueue([(id: "good", progression: Work.script()), (id: id, progression: Work.script())])
        }
      }
      #expect(try await fleet.counts().isEmpty)
    }

    @Test(arguments: [true, false]
    )
    func `Jobs enqueued in your transaction exist if and only if it commits`(commits: Bool) async throws {
      let fleet = test.fleet()
      _ = try await fleet.counts()
      let connection = PostgresPool(server ?? "", size: 1)
      _ = try await connection.run("BEGIN", [], within: .seconds(30))
      let text = "a \"quoted\\\" id, {with} braces"
      try await fleet.enqueue([(id: text, progression: Work.script()), (id: "NULL", progression: Work.script())]) {
        statement in
        let parameters = statement.parameters.map { PostgresValue.text($0) }
        _ = try await connection.run(statement.sql, parameters, within: .seconds(30))
      }
      #expect(try await fleet.status(of: text) == nil)
      _ = try await connection.run(commits ? "COMMIT" : "ROLLBACK", [], within: .seconds(30))
      #expect(try await fleet.status(of: text)?.state == (commits ? .queued : nil))
      #expect(try await fleet.counts() == (commits ? [.queued: 2] : [:]))
    }

    @Test
    func `Three workers run each stage of 200 jobs once`() async throws {
      let journal = Journal()
      let work = Work.script(last: 4) { id, step, _ in journal.add("\(id).\(step)") }
      let workers = (0..<3).map { _ in test.fleet() }
      for worker in workers { worker.register(Work.self) }
      let elsewhere = test.fleet()
      try await elsewhere.enqueue((0..<200).map { (id: "\($0)", progression: work) })
      try await test.withWorkers(workers) { () async throws in
        for id in 0..<200 { #expect(try await elsewhere.result(of: "\(id)", as: Work.self) == 4) }
      }
      #expect(journal.all.count == 600)
      #expect(Set(journal.all).count == 600)
      #expect(try await elsewhere.counts() == [.done: 200])
    }

    @Test
    func `Stages are streamed in order, while the job runs and afterwards`() async throws {
      let worker = test.fleet()
      worker.register(Work.self)
      let elsewhere = test.fleet()
      let work = Work.script(last: 30)
      try await elsewhere.enqueue(work, id: "a")
      let steps = { @Sendable () async throws -> [Int] in
        var steps: [Int] = []
        for try await stage in elsewhere.stages(of: "a", as: Work.self) { steps.append(stage.step) }
        return steps
      }
      try await test.withWorkers([worker]) { () async throws in #expect(try await steps() == Array(1...30)) }
      #expect(try await steps() == Array(1...30))
      await #expect(throws: FleetError.notFound(id: "b")) {
        for try await _ in elsewhere.stages(of: "b", as: Work.self) {}
      }
    }

    @Test
    func `A job whose stages are not kept streams the last one`() async throws {
      let worker = test.fleet()
      worker.register(Work.self)
      try await worker.enqueue(Work.script(), id: "a", options: FleetOptions(keepsStages: false))
      try await test.withWorkers([worker]) { () async throws in
        #expect(try await worker.result(of: "a", as: Work.self) == 3)
      }
      var steps: [Int] = []
      for try await stage in worker.stages(of: "a", as: Work.self) { steps.append(stage.step) }
      #expect(steps == [1, 3])
    }

    @Test
    func `A stage that fails is repeated as its retry policy says`() async throws {
      let journal = Journal()
      let work = Work.script { _, step, attempt in
        journal.add("\(step).\(attempt)")
        if step == 2, attempt < 3 { throw Failure(text: "attempt \(attempt)") }
      }
      let fleet = test.fleet()
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 3, backoff: .constant(.milliseconds(20))))
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "a", as: Work.self) == 3)
      }
      #expect(journal.all == ["1.1", "2.1", "2.2", "2.3"])
    }

    @Test
    func `The stage after one that was repeated is at its first attempt`() async throws {
      let journal = Journal()
      let work = Work.script(last: 4) { _, step, attempt in
        journal.add("\(step).\(attempt)")
        if step == 1, attempt == 1 { throw Failure(text: "once") }
      }
      let fleet = test.fleet()
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 2, backoff: .none))
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet]) { () async throws in _ = try await fleet.result(of: "a", as: Work.self) }
      #expect(journal.all == ["1.1", "1.2", "2.1", "3.1"])
    }

    @Test
    func `The delay that a policy takes from the error goes before its backoff`() async throws {
      let work = Work.script { _, _, _ in throw Failure(text: "busy") }
      let fleet = test.fleet()
      let retry = RetryPolicy(maxAttempts: 2, backoff: .none) { error, attempt in
        error is Failure && attempt == 1 ? .seconds(3_600) : nil
      }
      fleet.register(Work.self, retry: retry)
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the first attempt failed") { try await fleet.status(of: "a")?.error == "busy" }
      }
      let row = try await fleet.database.run("SELECT state, run_at > now() + interval '30 minutes' FROM @.jobs").first
      #expect(row?.text(0) == "scheduled")
      #expect(row?.isTrue(1) == true)
    }

    @Test
    func `A schema's name that PostgreSQL would cut off is an error`() async throws {
      for name in ["", String(repeating: "s", count: 64)] {
        let fleet = Fleet(server ?? "", configuration: FleetConfiguration(schema: name))
        let error = await #expect(throws: PostgresError.self) { try await fleet.counts() }
        #expect(error?.message.contains("1 to 63") == true)
        await #expect(throws: PostgresError.self) {
          try await fleet.enqueue([(id: "a", progression: Work.script())]) { _ in Issue.record("a statement is run") }
        }
      }
      let fleet = Fleet(server ?? "", configuration: FleetConfiguration(schema: String(repeating: "s", count: 63)))
      _ = try await fleet.counts()
      try await fleet.database.run("DROP SCHEMA @ CASCADE")
    }

    @Test
    func `A failing job is dead-lettered with its error, and can be requeued`() async throws {
      let isMended = Lock(false)
      let poison = Work.script { _, step, _ in
        if step == 2, !isMended.withLock({ $0 }) { throw Failure(text: "poison") }
      }
      let fleet = test.fleet(slots: 2)
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 2, backoff: .none))
      try await fleet.enqueue((0..<20).map { (id: "poison-\($0)", progression: poison) })
      try await fleet.enqueue((0..<20).map { (id: "good-\($0)", progression: Work.script()) })
      try await test.withWorkers([fleet]) { () async throws in
        for id in 0..<20 {
          #expect(try await fleet.result(of: "good-\(id)", as: Work.self) == 3)
          await #expect(throws: FleetError.failed(id: "poison-\(id)", error: "poison")) {
            try await fleet.result(of: "poison-\(id)", as: Work.self)
          }
        }
        let dead = try await fleet.deadLetters()
        #expect(dead.count == 20)
        #expect(dead.allSatisfy { $0.attempt == 2 && $0.stageCount == 2 })
        isMended.withLock { $0 = true }
        for job in dead { #expect(try await fleet.requeue(job.id)) }
        for job in dead { #expect(try await fleet.result(of: job.id, as: Work.self) == 3) }
        #expect(try await !fleet.requeue("good-1"))
      }
    }

    @Test
    func `Higher priorities start first, equal ones in the order of enqueuing`() async throws {
      let journal = Journal()
      let work = Work.script(last: 2) { id, _, _ in journal.add(id) }
      let fleet = test.fleet(slots: 1)
      fleet.register(Work.self)
      for (id, priority) in [("a", 0), ("b", 5), ("c", -1), ("d", 5), ("e", 0)] {
        try await fleet.enqueue(work, id: id, options: FleetOptions(priority: priority))
      }
      try await test.withWorkers([fleet]) { () async throws in _ = try await fleet.result(of: "c", as: Work.self) }
      #expect(journal.all == ["b", "d", "a", "e", "c"])
    }

    @Test
    func `A job does not start before its time`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(Work.script(), id: "late", options: FleetOptions(start: .after(.seconds(3_600))))
      try await fleet.enqueue(Work.script(), id: "soon", options: FleetOptions(start: .after(.milliseconds(300))))
      try await fleet.enqueue(
        Work.script(),
        id: "past",
        options: FleetOptions(start: .at(Date(timeIntervalSince1970: 1)))
      )
      #expect(try await fleet.status(of: "past")?.state == .queued)
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "soon", as: Work.self) == 3)
        #expect(try await fleet.result(of: "past", as: Work.self) == 3)
      }
      #expect(try await fleet.status(of: "late")?.state == .scheduled)
    }

    @Test
    func `A fork begins at a stage of its origin`() async throws {
      let journal = Journal()
      let work = Work.script(last: 5) { id, step, _ in journal.add("\(id).\(step)") }
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet]) { () async throws in
        _ = try await fleet.result(of: "a", as: Work.self)
        #expect(try await fleet.fork("a", fromStage: 3, as: "b"))
        #expect(try await !fleet.fork("a", fromStage: 3, as: "b"))
        #expect(try await fleet.result(of: "b", as: Work.self) == 5)
        #expect(try await fleet.fork("a", fromStage: 5, as: "c"))
        #expect(try await fleet.result(of: "c", as: Work.self) == 5)
        await #expect(throws: FleetError.notFound(id: "a")) { try await fleet.fork("a", fromStage: 6, as: "d") }
      }
      #expect(journal.all == ["a.1", "a.2", "a.3", "a.4", "b.3", "b.4"])
    }

    @Test
    func `Pruning removes only what ended before an age`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue((0..<30).map { (id: "\($0)", progression: Work.script()) })
      try await test.withWorkers([fleet]) { () async throws in
        for id in 0..<30 { _ = try await fleet.result(of: "\(id)", as: Work.self) }
      }
      try await fleet.enqueue(Work.script(), id: "queued")
      #expect(try await fleet.prune(olderThan: .seconds(3_600)) == 0)
      #expect(try await fleet.prune(olderThan: .zero) == 30)
      #expect(try await fleet.counts() == [.queued: 1])
      #expect(try await fleet.database.run("SELECT count(*) FROM @.stages").first?.integer(0) == 0)
      await #expect(throws: FleetError.notFound(id: "1")) { try await fleet.result(of: "1", as: Work.self) }
    }
  }

  struct Failure: Error, CustomStringConvertible {
    let text: String
    var description: String { text }
  }
#endif
