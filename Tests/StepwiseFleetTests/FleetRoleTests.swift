// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetRoleTests {
    let test = TestFleet()

    @Test
    func `One role enqueues, another one runs, and neither may do more`() async throws {
      let suffix = UUID().uuidString.prefix(8)
      let roles = (enqueuer: "enqueuer \(suffix)", worker: "worker \(suffix)")
      let administrator = PostgresPool(server ?? "", size: 1)
      func run(_ sql: String) async throws { _ = try await administrator.run(sql, [], within: .seconds(30)) }
      let text = test.fleet()
      try await run(text.schemaSQL)
      // Some administrators leave nothing to everyone.
      try await run("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA \(text.database.schema.quoted) FROM PUBLIC")
      for role in [roles.enqueuer, roles.worker] { try await run("CREATE ROLE \"\(role)\" LOGIN") }
      for line in text.grantsSQL(enqueuer: roles.enqueuer, worker: roles.worker).split(separator: "\n") {
        try await run(String(line.dropLast()))
      }
      let base = (server ?? "").replacing(/user=\S+/, with: "")
      let enqueuer = test.fleet(server: base + " user='\(roles.enqueuer)'")
      let worker = test.fleet(server: base + " user='\(roles.worker)'")
      worker.register(Work.self, limits: FleetLimits(running: 4, starts: 100))
      let parent = Work.script(last: 3) { id, step, _ in
        guard id == "a", let job = FleetJob.current else { return }
        try await job.enqueueChildren([(id: "child", progression: Work.script())])
        if step == 2 { _ = try await job.waitForChildren(["child"]) }
      }
      #expect(try await enqueuer.enqueue(parent, id: "a"))
      #expect(try await enqueuer.enqueue((0..<3).map { (id: "\($0)", progression: Work.script()) }) == 3)
      try await worker.schedule("nightly", cron: "0 3 * * *", Work.script())
      try await test.withWorkers([worker]) { () async throws in
        #expect(try await enqueuer.result(of: "a", as: Work.self) == 3)
        try await worker.waitUntilDone(5)
      }
      var steps: [Int] = []
      for try await stage in enqueuer.stages(of: "a", as: Work.self) { steps.append(stage.step) }
      #expect(steps == [1, 2, 3])
      try await worker.pause("Nothing")
      #expect(try await enqueuer.names().isEmpty == false)
      await #expect(throws: PostgresError.self) { try await enqueuer.cancel("a") }
      await #expect(throws: PostgresError.self) { try await enqueuer.pause("Nothing") }
      await #expect(throws: PostgresError.self) { try await enqueuer.prune(olderThan: .zero) }
      await #expect(throws: PostgresError.self) { try await worker.database.run("DROP TABLE @.jobs") }
      await #expect(throws: PostgresError.self) { try await worker.database.run("DELETE FROM @.migrations") }
      #expect(try await worker.prune(olderThan: .zero) == 5)
      for role in [roles.enqueuer, roles.worker] {
        try await run("DROP OWNED BY \"\(role)\"")
        try await run("DROP ROLE \"\(role)\"")
      }
    }

    @Test
    func `Tables of an earlier version are refused, and nothing in them changes`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self)
      let administrator = PostgresPool(server ?? "", size: 1)
      @discardableResult
      func run(_ sql: String) async throws -> [PostgresRow] {
        try await administrator.run(fleet.database.schema.statement(sql), [], within: .seconds(30))
      }
      try await run("CREATE SCHEMA @")
      try await run("CREATE TABLE @.migrations AS SELECT generate_series(0, 12) AS step, now() AS ran_at")
      try await run("CREATE TABLE @.jobs AS SELECT 'a' AS id, 'queued' AS state")
      for operation in [
        { _ = try await fleet.enqueue(Work.script(), id: "b") }, { try await fleet.work() },
        { try await run(fleet.schemaSQL) },
      ] {
        let error = try #require(await #expect(throws: PostgresError.self) { try await operation() })
        #expect(error.message.contains("earlier version"), "\(error)")
        #expect(error.isPermanent)
      }
      #expect(try await run("SELECT id, state FROM @.jobs").map { $0.text(1) } == ["queued"])
      #expect(try await run("SELECT count(*) FROM @.migrations").first?.integer(0) == 13)
    }
  }
#endif
