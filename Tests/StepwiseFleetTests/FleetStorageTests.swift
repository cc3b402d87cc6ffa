// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// What the settings of a database, its encoding and its ids do to jobs.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetStorageTests {
    struct Refused: Error, Codable, Equatable {
      var text: String
    }

    /// A text that ends as the result of a stage.
    struct Text: Progression, Codable, Equatable {
      var text: String
      var isDone = false

      func next() async throws -> Text { Text(text: "\u{2192}", isDone: true) }

      var result: String? { isDone ? text : nil }
    }

    /// Waits for a child, which ends at once.
    enum Parent: Progression, Codable, Equatable {
      case start, wait, done

      func next() async throws -> Parent {
        switch self {
        case .start:
          try await FleetJob.current?.enqueueChildren([(id: "child", progression: Work.script(last: 2))])
          return .wait
        case .wait:
          _ = try await FleetJob.current?.waitForChildren(["child"])
          return .done
        case .done: return .done
        }
      }

      var result: Int? { self == .done ? 1 : nil }
    }

    let test = TestFleet()

    /// Runs a body with a database of its own.
    private func withDatabase(
      _ options: String,
      _ body: (_ connection: String, PostgresPool, String) async throws -> Void
    )
      async throws
    {
      let (database, admin) = ("fleet\(Int.random(in: 0 ... .max))", PostgresPool(server ?? "", size: 1))
      try await admin.run("CREATE DATABASE \(database) TEMPLATE template0 \(options)")
      let result = await Result.of {
        try await body((server ?? "").replacing("dbname=postgres", with: "dbname=\(database)"), admin, database)
      }
      try await admin.run("DROP DATABASE IF EXISTS \(database) WITH (FORCE)")
      try result.get()
    }

    @Test(arguments: ["repeatable read", "serializable"])
    func `Statements run at read committed whatever the database's default is`(level: String) async throws {
      try await withDatabase("") { connection, admin, database in
        try await admin.run("ALTER DATABASE \(database) SET default_transaction_isolation = '\(level)'")
        let fleet = test.fleet(server: connection)
        fleet.register(Parent.self)
        fleet.register(Work.self)
        let found = try await fleet.database.run("SELECT current_setting('transaction_isolation')").first?.text(0)
        #expect(found == "read committed")
        // A statement that is refused leaves no transaction open.
        for _ in 0..<20 { _ = try? await fleet.database.run("SELECT 1 / 0") }
        #expect(try await fleet.database.run("SELECT 7::bigint").first?.integer(0) == 7)
        try await fleet.enqueue((0..<50).map { (id: "\($0)", progression: Parent.start) })
        try await test.withWorkers([fleet, fleet]) { () async throws in try await fleet.waitUntilDone(100) }
        let store = PostgresCheckpointStore(connection, schema: "store")
        #expect(try await Chain("one") { (n: Int) in n }.run(7, id: "a", in: store) == 7)
      }
    }

    @Test
    func `A value that the database cannot store ends its job, and no drain waits for it`() async throws {
      try await withDatabase("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'") { connection, _, _ in
        let fleet = test.fleet(server: connection)
        let arrow = Chain("arrow") { (n: Int) in "\u{2192} \(n)" }
        let fails = Chain("fails") { (n: Int) in
          if n > 0 { throw Refused(text: "\u{2192}") }
          return n
        }
        for chain in [fails] { fleet.register(chain) }
        fleet.register(arrow)
        fleet.register(Text.self)
        fleet.register(Work.self)
        try await fleet.enqueue(arrow, 1, id: "chain")
        try await fleet.enqueue(fails, 1, id: "fails")
        try await fleet.enqueue(Text(text: "a"), id: "stage")
        try await fleet.enqueue(Work.script(), id: "work")
        let ends = Journal()
        try await test.withWorkers([fleet]) { event in
          if case .ended(let id, _, let state, _, let error) = event { ends.add("\(id) \(state) \(error != nil)") }
        } _: { () async throws in
          for id in ["chain", "fails", "stage"] { try await fleet.waitForState(.failed, of: id) }
          #expect(try await fleet.result(of: "work", as: Work.self) == 3)
        }
        #expect(ends.all.sorted() == ["chain failed true", "fails failed true", "stage failed true"])
        #expect(try await fleet.status(of: "chain")?.error?.contains("cannot be stored") == true)
        #expect(try await fleet.status(of: "fails")?.error?.contains("?") == true)
        await #expect(throws: Refused(text: "\u{2192}")) { try await fleet.result(of: "fails", as: fails) }
      }
    }

    @Test
    func `An id that belongs to a job of another type is an error`() async throws {
      let fleet = test.fleet()
      let chain = Chain("order") { (n: Int) in n }
      #expect(try await fleet.enqueue(chain, 1, id: "7"))
      #expect(try await !fleet.enqueue(chain, 2, id: "7"))
      let error = FleetError.foreignType(id: "7", stored: "chain order", expected: String(reflecting: Work.self))
      let work = Work.script()
      for replacing in [FleetOptions.Replacement.nothing, .finished] {
        let options = FleetOptions(replacing: replacing)
        await #expect(throws: error) { try await fleet.enqueue(work, id: "7", options: options) }
        await #expect(throws: error) {
          try await fleet.enqueue(["7", "8"].map { (id: $0, progression: work) }, options: options)
        }
        await #expect(throws: FleetError.self) { try await fleet.enqueue(chain, 1, id: "8", options: options) }
      }
      #expect(try await fleet.counts() == [.queued: 2])
    }

    @Test
    func `A NUL in a reason or an id is no error`() async throws {
      let fleet = test.fleet()
      try await fleet.enqueue(Work.script(), id: "7")
      #expect(try await fleet.cancel("7", reason: "not\0 wanted"))
      #expect(try await fleet.status(of: "7")?.cancellationReason == "not wanted")
      #expect(try await !fleet.cancel("\0"))
      #expect(try await !fleet.requeue("\0"))
      #expect(try await fleet.status(of: "7\0") == nil)
      await #expect(throws: FleetError.notFound(id: "7\0")) { try await fleet.send(1, to: "7\0", signal: "s") }
    }

    @Test
    func `A chain reports its end, and its error`() async throws {
      let fleet = test.fleet()
      let chain = Chain("events") { (n: Int) in
        try await step("two") { if n < 0 { throw Refused(text: "declined") } }
        return n
      }
      fleet.register(chain)
      try await fleet.enqueue(chain, 1, id: "good")
      try await fleet.enqueue(chain, -1, id: "bad")
      let ends = Journal()
      try await test.withWorkers([fleet]) { event in
        guard case .ended(let id, "chain events", let state, _, let error) = event else { return }
        ends.add("\(id) \(state) \((error as? Refused)?.text ?? "none")")
      } _: { () async throws in
        for id in ["good", "bad"] { try await fleet.waitForState(id == "good" ? .done : .failed, of: id) }
      }
      #expect(ends.all.sorted() == ["bad failed declined", "good done none"])
      #expect(try await fleet.status(of: "bad")?.isUndone == true)
    }

    static let autumn: [(cron: String, minutes: [Int64])] = [
      ("*/30 * * * *", [30, 60, 90, 120, 150]), ("30 * * * *", [30, 90, 150, 210, 270]),
      ("0,30 2 * * *", [90, 1_500, 1_530, 2_940]), ("* 2 * * *", [1, 2, 3, 4, 5]),
      // After 2:00 in the first hour, in the second one, and on the next day.
      ("*/20 2 * * *", [20, 40, 60, 80, 100, 1_500]),
    ]

    @Test(arguments: autumn)
    func `In autumn a wildcard schedule runs on, and another one has its ticks once`(cron: String, minutes: [Int64])
      async throws
    {
      let fleet = test.fleet()
      // 27 October 2030, 2:00 in Berlin, an hour before the clocks go back to 2:00.
      let start: Int64 = 1_919_289_600
      var found: [Int64] = []
      while found.count < minutes.count {
        let after = Double(found.last ?? start)
        found.append(
          try #require(try await fleet.store.next(of: CronExpression(cron), in: "Europe/Berlin", after: after))
        )
      }
      #expect(found.map { ($0 - start) / 60 } == minutes)
    }

    @Test
    func `A wildcard schedule that is due once a year begins in the first of two equal hours`() async throws {
      let cron = try CronExpression("* 2 27 10 *")
      #expect(
        try await test.fleet().store.next(of: cron, in: "Europe/Berlin", after: 1_919_289_600 - 86_400) == 1_919_289_600
      )
    }
  }
#endif
