// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import StepwiseTesting
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetControlTests {
    let test = TestFleet()

    @Test
    func `A job that does not run is cancelled at once, and never starts`() async throws {
      let journal = Journal()
      let work = Work.script { id, _, _ in journal.add(id) }
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "a")
      #expect(try await fleet.cancel("a", reason: "no longer needed"))
      #expect(try await !fleet.cancel("a"))
      #expect(try await !fleet.cancel("b"))
      try await fleet.enqueue(work, id: "b")
      try await test.withWorkers([fleet]) { () async throws in _ = try await fleet.result(of: "b", as: Work.self) }
      #expect(Set(journal.all) == ["b"])
      await #expect(throws: FleetError.cancelled(id: "a", reason: "no longer needed")) {
        try await fleet.result(of: "a", as: Work.self)
      }
    }

    @Test(arguments: [true, false]
    )
    func `Another process cancels a running stage, notified or polling`(listens: Bool) async throws {
      let work = Work.script { _, step, _ in if step == 2 { try await untilCancelled() } }
      let worker = test.fleet(slots: 50, listens: listens, poll: listens ? .seconds(5) : .milliseconds(100))
      worker.register(Work.self)
      let elsewhere = test.fleet(listens: listens)
      let ids = (0..<50).map { "\($0)" }
      try await elsewhere.enqueue(ids.map { (id: $0, progression: work) })
      try await test.withWorkers([worker]) { () async throws in
        for id in ids { try await elsewhere.waitForState(.running, of: id) }
        #expect(try await elsewhere.cancel(ids, reason: "stop") == 50)
        for id in ids {
          await #expect(throws: FleetError.cancelled(id: id, reason: "stop")) {
            try await elsewhere.result(of: id, as: Work.self)
          }
        }
      }
    }

    @Test
    func `A queued job is announced again when a wait for it begins`() async throws {
      let fleet = test.fleet()
      let journal = try await test.listen()
      let worker = try await fleet.registerWorker(knowing: [StageCoder<Work>().name], within: .seconds(30))
      try await fleet.enqueue(Work.script(), id: "a")
      try await fleet.enqueue(Work.script(), id: "later", options: FleetOptions(start: .after(.seconds(3_600))))
      for id in ["a", "later", "a"] { _ = try await fleet.watch(id) }
      try await fleet.cancel("a")
      try await waitUntil("the notification of the cancellation") { journal.all.last == "sa" }
      #expect(journal.all == ["q\(worker)", "q\(worker)", "sa"])
    }

    @Test
    func `A cancellation during the last stage does not destroy its result`() async throws {
      let hasStarted = Once<Void>()
      let mayEnd = Once<Void>()
      let work = Work.script(last: 2) { _, _, _ in
        hasStarted.settle(())
        await mayEnd.valueIgnoringCancellation()
      }
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "a")
      try await test.withWorkers([fleet]) { () async throws in
        await hasStarted.valueIgnoringCancellation()
        try await fleet.cancel("a")
        mayEnd.settle(())
        #expect(try await fleet.result(of: "a", as: Work.self) == 2)
      }
    }

    /// What begins the drain of a worker.
    enum Drain: CaseIterable {
      case token, task, surroundingToken
    }

    @Test(
      arguments: Drain.allCases
    )
    func `A drained worker saves the stage in progress for the next one`(by drain: Drain) async throws {
      let journal = Journal()
      let hasStarted = Once<Void>()
      let mayEnd = Once<Void>()
      let work = Work.script(last: 4) { _, step, _ in
        journal.add("\(step)")
        if step == 2 {
          hasStarted.settle(())
          await mayEnd.valueIgnoringCancellation()
          // A drain does not cancel what a stage runs.
          try await Chain("inner") {}.then {}.run()
        }
      }
      let (first, second) = (test.fleet(), test.fleet())
      for fleet in [first, second] { fleet.register(Work.self) }
      try await first.enqueue(work, id: "a")
      let token = CancellationToken()
      let worker = Task {
        switch drain {
        case .token: try await first.work(until: token)
        case .task: try await first.work()
        case .surroundingToken: try await withCancellation(by: token) { try await first.work() }
        }
      }
      await hasStarted.valueIgnoringCancellation()
      if drain == .task { worker.cancel() } else { token.cancel() }
      mayEnd.settle(())
      try await worker.value
      let status = try await first.status(of: "a")
      #expect(status?.state == .queued)
      #expect(status?.stageCount == 3)
      #expect(try await first.database.run("SELECT count(*) FROM @.workers").first?.integer(0) == 0)
      try await test.withWorkers([second]) { () async throws in
        #expect(try await second.result(of: "a", as: Work.self) == 4)
      }
      #expect(journal.all == ["1", "2", "3"])
    }

    @Test
    func `A stage that outlasts the drain limit is repeated elsewhere`() async throws {
      let journal = Journal()
      let hasStarted = Once<Void>()
      let work = Work.script(last: 2) { _, _, attempt in
        journal.add("\(attempt)")
        if hasStarted.settle(()) { try await untilCancelled() }
      }
      let (first, second) = (test.fleet(drainLimit: .milliseconds(50)), test.fleet())
      for fleet in [first, second] { fleet.register(Work.self) }
      try await first.enqueue(work, id: "a")
      let token = CancellationToken()
      async let drained: Void = first.work(until: token)
      await hasStarted.valueIgnoringCancellation()
      token.cancel()
      try await drained
      try await test.withWorkers([second]) { () async throws in
        #expect(try await second.result(of: "a", as: Work.self) == 2)
      }
      #expect(journal.all == ["1", "1"])
    }

    @Test
    func `A worker claims no unknown version, and migrates earlier ones`() async throws {
      let (old, new) = (test.fleet(), test.fleet())
      old.register(ShapeOne.self)
      new.register(ShapeTwo.self)
      try await old.enqueue((0..<20).map { (id: "one-\($0)", progression: ShapeOne(step: 0)) })
      try await new.enqueue((0..<20).map { (id: "two-\($0)", progression: ShapeTwo(count: 0)) })
      try await test.withWorkers([old]) { () async throws in
        for id in 0..<20 { #expect(try await old.result(of: "one-\(id)", as: ShapeOne.self) == 1) }
      }
      #expect(try await new.counts() == [.done: 20, .queued: 20])
      try await old.enqueue((20..<40).map { (id: "one-\($0)", progression: ShapeOne(step: 0)) })
      try await test.withWorkers([old, new]) { () async throws in
        for id in 0..<20 { #expect(try await new.result(of: "two-\(id)", as: ShapeTwo.self) == 2) }
        for id in 0..<40 { #expect([1, 2].contains(try await new.result(of: "one-\(id)", as: ShapeTwo.self))) }
      }
    }

    @Test
    func `A parent gives up its slot until its children have ended`() async throws {
      let journal = Journal()
      let child = Work.script(last: 2) { id, _, _ in journal.add(id) }
      let ids = (0..<10).map { "child-\($0)" }
      let parent = Work.script(last: 3) { _, step, attempt in
        let job = try #require(FleetJob.current)
        if step == 1 { try await job.enqueueChildren(ids.map { (id: $0, progression: child) }) }
        guard step == 2 else { return }
        let states = try await job.waitForChildren(ids)
        #expect(states.map(\.id) == ids.map(job.childID))
        #expect(states.allSatisfy { $0.state == .done })
        #expect(attempt == 1)
      }
      // With one slot, a parent that held it would wait for ever.
      let fleet = test.fleet(slots: 1)
      fleet.register(Work.self)
      try await fleet.enqueue((0..<3).map { (id: "parent-\($0)", progression: parent) })
      try await test.withWorkers([fleet]) { () async throws in
        for id in 0..<3 { #expect(try await fleet.result(of: "parent-\(id)", as: Work.self) == 3) }
      }
      #expect(Set(journal.all).count == 30)
      #expect(journal.all.count == 30)
    }
  }

  extension FleetControlTests {
    @Test
    func `Children and awaited jobs are pruned only after the parent's end`() async throws {
      let hasFailed = Lock(false)
      let parent = Work.script(last: 2) { _, _, _ in
        let job = try #require(FleetJob.current)
        try await job.enqueueChildren([
          (id: "child", progression: Work.script()), (id: "else", progression: Work.script()),
        ])
        _ = try await job.waitForJobs([job.childID("child"), "other"])
        let isFirst = hasFailed.withLock { hasFailed in
          defer { hasFailed = true }
          return !hasFailed
        }
        if isFirst { throw Failure(text: "the first attempt") }
      }
      let fleet = test.fleet(slots: 1)
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(3_600))))
      try await fleet.enqueue(parent, id: "parent")
      try await fleet.enqueue(Work.script(), id: "other")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitUntilDone(3)
        try await fleet.waitForState(.scheduled, of: "parent")
        #expect(try await fleet.prune(olderThan: .zero) == 0)
        try await fleet.database.run("UPDATE @.jobs SET run_at = clock_timestamp() WHERE id = 'parent'")
        #expect(try await fleet.result(of: "parent", as: Work.self) == 2)
      }
      #expect(try await fleet.prune(olderThan: .zero) == 4)
      #expect(try await fleet.database.run("SELECT count(*) FROM @.waits").first?.integer(0) == 0)
    }

    @Test
    func `Children are cancelled with their parent unless they are detached`() async throws {
      let itself = Lock<Work?>(nil)
      let parent = Work.script(last: 2) { id, _, _ in
        let job = try #require(FleetJob.current)
        if id.hasSuffix("/nested") {
          try await job.enqueueChildren(
            [(id: "leaf", progression: Work.script())],
            options: FleetOptions(start: .after(.seconds(3_600)))
          )
        } else {
          let later = FleetOptions(start: .after(.seconds(3_600)))
          try await job.enqueueChildren([(id: "child", progression: Work.script())], options: later)
          try await job.enqueueChildren([(id: "free", progression: Work.script())], options: later, isDetached: true)
          try await job.enqueueChildren([(id: "nested", progression: try #require(itself.withLock { $0 }))])
        }
        try await untilCancelled()
      }
      itself.withLock { $0 = parent }
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(parent, id: "parent")
      let open = ["parent", "parent/child", "parent/nested", "parent/nested/leaf"]
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.scheduled, of: "parent/nested/leaf")
        #expect(try await fleet.cancel("parent", reason: "stop"))
        for id in open { try await fleet.waitForState(.cancelled, of: id) }
      }
      #expect(try await fleet.jobs(in: [.scheduled]).jobs.map(\.id) == ["parent/free"])
      #expect(try await fleet.status(of: "parent/nested/leaf")?.cancellationReason == "stop")
    }

    @Test
    func `A running job that is cancelled together with its parent counts once`() async throws {
      let fleet = test.fleet()
      try await fleet.enqueue(Work.script(), id: "a")
      _ = try await fleet.enqueue([(id: "a/b", progression: Work.script())], options: FleetOptions(), parent: "a")
      _ = try await fleet.enqueue([(id: "a/b/c", progression: Work.script())], options: FleetOptions(), parent: "a/b")
      try await fleet.database.run("UPDATE @.jobs SET state = 'running'")
      #expect(try await fleet.cancel(["a", "a/b/c"]) == 2)
    }

    @Test(arguments: [true, false])
    func `A child that is added while its parent is cancelled is cancelled`(isAddedFirst: Bool) async throws {
      let fleet = test.fleet()
      try await fleet.enqueue(Work.script(), id: "a")
      try await fleet.database.run("UPDATE @.jobs SET state = 'running'")
      let open = PostgresPool((server ?? "") + " application_name=open", size: 1)
      func run(_ sql: String) async throws {
        _ = try await open.run(fleet.database.schema.statement(sql), [], within: .seconds(30))
      }
      let child = [(id: "a/b", progression: Work.script())]
      try await run("BEGIN")
      let other: Task<Void, any Error>
      if isAddedFirst {
        try await run(
          """
          WITH p AS (SELECT FROM @.jobs WHERE id = 'a' FOR KEY SHARE)
          INSERT INTO @.jobs (id, name, priority, state, run_at, keeps_stages, first_shape, first, shape, parent)
          SELECT 'a/b', 'Work', 0, 'queued', now(), true, 0, '', 0, 'a' FROM p
          """
        )
        other = Task { _ = try await fleet.cancel("a", reason: "stop") }
      } else {
        try await run("SELECT * FROM @.cancel('{a}', 'stop')")
        other = Task { _ = try await fleet.enqueue(child, options: FleetOptions(), parent: "a") }
      }
      try await waitUntil("one waits for the other") {
        let waits =
          "SELECT FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE query LIKE $1)"
        return try await !fleet.database.run(waits, [.text("%\(test.schema)%")]).isEmpty
      }
      try await run("COMMIT")
      try await other.value
      let status = try await fleet.status(of: "a/b")
      #expect(status?.state == .cancelled)
      #expect(status?.cancellationReason == "stop")
      #expect(status?.endedAt != nil)
      // One of a parent that has ended otherwise runs.
      try await fleet.database.run("UPDATE @.jobs SET state = 'done', cancel_requested = false, finished_at = now()")
      #expect(
        try await fleet.enqueue([(id: "a/c", progression: Work.script())], options: FleetOptions(), parent: "a") == 1
      )
      #expect(try await fleet.cancel("a") == false)
      #expect(try await fleet.status(of: "a/c")?.state == .queued)
    }
  }

  func untilCancelled() async throws {
    _ = await Once<Void>().value()
    try Task.checkCancellation()
  }

  private struct ShapeOne: VersionedProgression {
    static let schemaVersion = 1
    static let migrations: [CheckpointMigration<ShapeOne>] = []
    static let progressionName = "Shape"

    var step: Int

    func next() async throws -> ShapeOne { ShapeOne(step: step + 1) }
    var result: Int? { step == 1 ? step : nil }
  }

  private struct ShapeTwo: VersionedProgression {
    static let schemaVersion = 2
    static let migrations = [
      CheckpointMigration<ShapeTwo>(from: 1) { (old: ShapeOne) in ShapeTwo(count: old.step, wasOne: true) }
    ]
    static let progressionName = "Shape"

    var count: Int
    var wasOne = false

    func next() async throws -> ShapeTwo { ShapeTwo(count: count + 1, wasOne: wasOne) }
    var result: Int? { count == 2 || (wasOne && count == 1) ? count : nil }
  }
#endif
