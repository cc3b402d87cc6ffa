// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  /// Faults of jobs, and the end of workers that is no fault.
  @Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct PoisonFaultTests {
    let test = TestFleet()

    @Test
    func `A job that kills its workers is dead-lettered, and others are done`() async throws {
      let (fleet, attempts) = (test.fleet(), 5)
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 1, slots: 2, attempts: attempts)
      let poison = workers.work(isPoison: true)
      // A stage takes long enough that the poison beside it ends the worker first.
      let work = workers.work(last: 2, rounds: 1_000_000)
      for id in 0..<6 {
        try await fleet.enqueue(work, id: "\(id)")
        if id < 2 { try await fleet.enqueue(poison, id: "poison \(id)") }
      }
      for _ in 0..<2 { try workers.launch() }
      try await waitUntil("each job is done or failed", within: .seconds(240)) {
        try workers.replaceDead()
        let counts = try await fleet.counts()
        return counts[.done, default: 0] + counts[.failed, default: 0] == 8
      }
      #expect(try await fleet.counts() == [.done: 6, .failed: 2])
      let dead = try await fleet.deadLetters()
      #expect(Set(dead.map(\.id)) == Set((0..<2).map { "poison \($0)" }))
      #expect(dead.allSatisfy { $0.attempt == attempts && $0.error?.contains("worker died") == true })
    }

    @Test
    func `A worker that receives SIGTERM saves its stages and ends`() async throws {
      let fleet = test.fleet()
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 60, slots: 4)
      try await fleet.enqueue((0..<60).map { (id: "\($0)", progression: workers.work(rounds: 20_000)) })
      try workers.launch()
      var drained = 0
      try await waitUntil("5 workers are drained, or all jobs are done; \(drained) are drained") {
        if try await fleet.counts()[.done] == 60 { return true }
        guard let busy = try await fleet.busyWorkers().first(where: workers.isAlive) else { return false }
        #expect(try await workers.drain(busy) == 0)
        drained += 1
        try workers.launch()
        return drained == 5
      }
      #expect(drained > 0)
      try await fleet.waitUntilDone(60)
      let executions = try workers.executions()
      #expect(executions.count == 60 * 5)
      #expect(executions.values.allSatisfy { $0 == 1 })
    }

    @Test
    func `A stage that the server refuses fails only its own job`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      try await fleet.enqueue((0..<20).map { (id: "\($0)", progression: Work.script()) })
      let types = Array(fleet.registrations.withLock { $0.values })
      let worker = try await fleet.registerWorker(within: .seconds(30))
      let jobs = try await fleet.claim(20, as: worker, knowing: [], of: types, within: .seconds(30))
      let saver = FleetWorker(fleet, fleet.registrations.withLock { $0 })
      // While the table is locked, the first save waits and the others become one statement.
      let blocker = PostgresPool(server ?? "", size: 1)
      let table = fleet.database.schema.statement("LOCK TABLE @.jobs IN EXCLUSIVE MODE")
      for sql in ["BEGIN", table] { _ = try await blocker.run(sql, [], within: .seconds(30)) }
      let ids = try await withThrowingTaskGroup(of: String?.self) { group in
        for job in jobs {
          // PostgreSQL stores no NUL in a text.
          let stage = job.id == "13" ? "a\0b" : "{}"
          let save = job.save(stage, version: 2)
          group.addTask { (try? await saver.store(save, with: saver.saves)) != nil ? job.id : nil }
        }
        _ = try await blocker.run("COMMIT", [], within: .seconds(30))
        return try await group.reduce(into: [String]()) { ids, id in if let id { ids.append(id) } }.sorted()
      }
      #expect(ids == (0..<20).map { "\($0)" }.filter { $0 != "13" }.sorted())
    }

    @Test
    func `A connection to a read-only server is replaced`() async throws {
      let database = "fleet\(Int.random(in: 0 ... .max))"
      let admin = PostgresPool(server ?? "", size: 1)
      try await admin.run("CREATE DATABASE \(database)")
      let connection = (server ?? "").replacing("dbname=postgres", with: "dbname=\(database)")
      try await admin.run("ALTER DATABASE \(database) SET default_transaction_read_only = on")
      let error = await #expect(throws: PostgresError.self) {
        try await PostgresPool(connection, size: 1).run("SELECT 1", [], within: .seconds(30))
      }
      #expect(error?.code == .connection)
      let pool = PostgresPool(connection + " target_session_attrs=any", size: 1)
      try await pool.run("SELECT 1")
      try await admin.run("ALTER DATABASE \(database) RESET default_transaction_read_only")
      try await pool.run("CREATE TABLE there (id bigint)")
      try await admin.run("DROP DATABASE IF EXISTS \(database) WITH (FORCE)")
    }

    @Test
    func `No session setting changes, and an abandoned statement ends`() async throws {
      let pool = PostgresPool(server ?? "", size: 1)
      let settings = "SELECT string_agg(name, ', ') FROM pg_settings WHERE source = 'session'"
      #expect(try await pool.run(settings).first?.text(0) == nil)
      let name = "fleet \(Int.random(in: 0 ... .max))"
      await #expect(throws: PostgresError.self) {
        try await pool.run("SELECT pg_sleep(600), '\(name)'", within: .milliseconds(300), attempts: 1)
      }
      try await waitUntil("the statement is cancelled") {
        let active =
          "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1"
        return try await pool.run(active, [.text("%\(name)%")]).first?.integer(0) == 0
      }
    }

    @Test
    func `Of connections that have nothing to do, one stays open`() async throws {
      let name = "pool \(Int.random(in: 0 ... .max))"
      let pool = PostgresPool((server ?? "") + " application_name='\(name)'", size: 4)
      func count() async throws -> Int64? {
        try await pool.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", [.text(name)]).first?
          .integer(0)
      }
      try await withThrowingTaskGroup { group in
        for _ in 0..<4 { group.addTask { try await pool.run("SELECT pg_sleep(0.1)") } }
        try await group.waitForAll()
      }
      #expect(try await count() == 4)
      try await waitUntil("three are closed") { try await count() == 1 }
    }

    @Test
    func `A prepared statement that a pooler has lost is prepared again`() async throws {
      let pool = PostgresPool(server ?? "", size: 1)
      for _ in 0..<3 {
        #expect(try await pool.run("SELECT 7::bigint").first?.integer(0) == 7)
        try await pool.run("DEALLOCATE ALL")
      }
    }
  }
#endif
