// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Foundation
  import Stepwise
  @testable import StepwiseFleet
  import Testing

  @Suite(
    .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: server != nil && TestServer.bin != nil, "no server, or no programs of PostgreSQL to start one")
  )
  struct ServerFaultTests {
    let test = TestFleet()

    @Test(arguments: [false, true]
    )
    func `No stage is repeated when the server is stopped or killed`(isKilled: Bool) async throws {
      let postgres = try await TestServer()
      let journal = Journal()
      let work = Work.script(last: 6) { id, step, _ in journal.add("\(id).\(step)") }
      let fleets = (0..<2).map { _ in test.fleet(server: postgres.connectionString) }
      for fleet in fleets { fleet.register(Work.self) }
      try await fleets[0].enqueue((0..<600).map { (id: "\($0)", progression: work) })
      try await test.withWorkers(fleets) { () async throws in
        for done in [50, 200, 350] {
          try await fleets[0].waitUntilDone(done)
          try await postgres.end(with: isKilled ? SIGKILL : SIGQUIT)
          try await postgres.start()
        }
        try await fleets[0].waitUntilDone(600)
      }
      #expect(try await fleets[0].counts() == [.done: 600])
      #expect(Set(journal.all).count == 3_000)
      #expect(journal.all.count == 3_000)
    }

    @Test(arguments: [true, false])
    func `Orders and jobs end on the standby that is promoted, which repeats only what it never received`(
      isSynchronous: Bool
    ) async throws {
      let primary = try await TestServer()
      let standby = try await TestServer(standbyOf: primary)
      if isSynchronous {
        try await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try await primary.run("SELECT pg_reload_conf()")
      }
      let (journal, path) = (Journal(), NSTemporaryDirectory() + "stepwise-orders-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(atPath: path) }
      let work = Work.script(last: 6) { id, step, _ in journal.add("\(id).\(step)") }
      let both = "host=127.0.0.1,127.0.0.1 port=\(primary.port),\(standby.port) user=tester dbname=postgres"
      let fleets = (0..<2).map { _ in test.fleet(server: both) }
      for fleet in fleets {
        fleet.register(Work.self)
        fleet.register(CrashOrder.chain)
      }
      let fleet = fleets[0]
      let ids = (0..<300).map { "\($0)" }
      let orders = (0..<300).map { CrashOrder(journal: path, rounds: 0, fails: $0 % 3 == 0) }
      #expect(try await fleet.enqueue(CrashOrder.chain, Array(zip(ids, orders).map { (id: $0, input: $1) })) == 300)
      for id in 0..<300 { try await fleet.send(id, to: ids[id], signal: "approval", id: "approval") }
      #expect(try await fleet.enqueue(ids.map { (id: "work \($0)", progression: work) }) == 300)
      @Sendable func waitUntilEnded(_ count: Int) async throws {
        try await waitUntil("\(count) have ended") {
          try await fleet.counts().filter(\.key.isFinal).values.reduce(0, +) >= count
        }
      }
      try await test.withWorkers(fleets) { () async throws in
        try await waitUntilEnded(100)
        if !isSynchronous {
          try await standby.run("ALTER SYSTEM SET primary_conninfo = ''")
          try await standby.run("SELECT pg_reload_conf()")
          try await waitUntil("the standby receives nothing") {
            try await primary.run("SELECT count(*) FROM pg_stat_replication")?.integer(0) == 0
          }
          try await waitUntilEnded(200)
        }
        try await primary.end(with: SIGKILL)
        try await standby.run("SELECT pg_promote()")
        try await waitUntilEnded(600)
      }
      let ledger = try Ledger(path)
      let violations = try await fleet.statuses(of: ids).flatMap { ledger.violations(of: $0) }
      #expect(violations.isEmpty, "\(violations.prefix(5))")
      #expect(try await fleet.counts() == [.done: 500, .failed: 100])
      #expect(Set(journal.all).count == 1_500)
      #expect((ledger.repeats + journal.all.count - 1_500 == 0) == isSynchronous)
    }

    @Test
    func `A wait for a signal outlasts a server that cannot be reached`() async throws {
      let postgres = try await TestServer()
      let fleet = test.fleet(server: postgres.connectionString)
      let order = Chain("order") { (_: Int) in try await step("approval", waitFor: Int.self) }
      fleet.register(order)
      try await fleet.enqueue(order, 1, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the order waits") { fleet.hub.calls.withLock { $0["order-7"]?.count == 1 } }
        try await postgres.end(with: SIGKILL)
        try await waitUntil("the server is gone") { (try? await fleet.status(of: "order-7")) == nil }
        fleet.hub.deliver(to: "order-7")
        // The order looks for its signal as long as this looks for the order.
        await #expect(throws: PostgresError.self) { try await fleet.status(of: "order-7") }
        try await postgres.start()
        try await fleet.send(7, to: "order-7", signal: "approval")
        #expect(try await fleet.result(of: "order-7", as: order) == 7)
      }
    }

    @Test(arguments: [false, true]
    )
    func `No stage is repeated when connections are cut or hang`(areHalfOpen: Bool) async throws {
      let port = try #require(
        server?.split(separator: " ").first { $0.hasPrefix("port=") }.flatMap { Int($0.dropFirst(5)) }
      )
      let proxy = try FaultProxy(to: port)
      let journal = Journal()
      let work = Work.script(last: 6) { id, step, _ in journal.add("\(id).\(step)") }
      let through = "host=127.0.0.1 port=\(proxy.port) user=tester dbname=postgres sslmode=disable"
      // A statement is given up after a third of the lease.
      let worker = test.fleet(slots: 4, lease: .seconds(6), server: through)
      worker.register(Work.self)
      let direct = test.fleet()
      try await direct.enqueue((0..<600).map { (id: "\($0)", progression: work) })
      var faults = 0
      for round in 1...5 {
        faults += try await test.withWorkers([worker]) { () async throws -> Int in
          try await direct.waitUntilDone(round * 80)
          let count = areHalfOpen ? proxy.stall() : proxy.cut()
          try await direct.waitUntilDone(round * 80 + 40)
          return count
        }
      }
      try await test.withWorkers([worker]) { () async throws in try await direct.waitUntilDone(600) }
      #expect(faults >= 5)
      #expect(Set(journal.all).count == 3_000)
      #expect(journal.all.count == 3_000)
    }

    @Test(
      .enabled("only root may mount a small file system") { await TestServer.canMount() }
    )
    func `Saves wait while the server's disk is full, and no stage is repeated`() async throws {
      let postgres = try await TestServer(megabytes: 48)
      let admin = PostgresPool(postgres.connectionString, size: 1)
      for sql in ["CREATE TABLESPACE small LOCATION '\(postgres.space)'", "CREATE DATABASE small TABLESPACE small"] {
        _ = try await admin.run(sql, [], within: .seconds(30))
      }
      let connection = postgres.connectionString.replacing("dbname=postgres", with: "dbname=small")
      let filler = PostgresPool(connection, size: 1)
      let fleet = test.fleet(slots: 16, server: connection)
      let journal = Journal()
      let isFull = Once<Void>()
      // However fast the jobs are, the last hundred are stored while the disk is full.
      let work = Work.script(last: 12) { id, step, _ in
        if step == 1, Int(id) ?? 0 >= 700 { _ = try await isFull.value(of: "the disk is full") }
        journal.add("\(id).\(step)")
      }
      fleet.register(Work.self)
      try await fleet.enqueue((0..<800).map { (id: "\($0)", progression: work) })
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitUntilDone(50)
        _ = try await filler.run("CREATE TABLE filler (text text)", [], within: .seconds(30))
        let refusals = "SELECT xact_rollback FROM pg_stat_database WHERE datname = 'small'"
        func refused() async throws -> Int64 {
          try await admin.run(refusals, [], within: .seconds(30)).first?.integer(0) ?? 0
        }
        let before = try await refused()
        var rows: Int64 = 100_000
        try await waitUntil("the disk is full, and many statements were refused") {
          do {
            let fill = "INSERT INTO filler SELECT repeat('x', 100) FROM generate_series(1, $1)"
            _ = try await filler.run(fill, [.integer(rows)], within: .seconds(30))
          } catch {
            #expect((error as? PostgresError)?.sqlState == "53100")
            rows = max(1, rows / 2)
            if rows == 1 { isFull.settle(()) }
          }
          return try await refused() >= before + 60
        }
        #expect(try await fleet.counts()[.done] ?? 0 < 800)
        await #expect(throws: PostgresError.self) {
          try await fleet.enqueue((0..<5_000).map { (id: "more \($0)", progression: work) })
        }
        _ = try await filler.run("DROP TABLE filler", [], within: .seconds(30))
        try await fleet.waitUntilDone(800)
      }
      #expect(try await fleet.counts() == [.done: 800])
      #expect(Set(journal.all).count == 800 * 11)
      #expect(journal.all.count == 800 * 11)
    }
  }
#endif
