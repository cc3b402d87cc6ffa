// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// Chains without an input or an output are jobs like any other.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetVoidTests {
    struct Refused: Error, Codable, Equatable {}

    let test = TestFleet()
    let journal = Journal()

    private var cleanUp: Chain<Void, Void> {
      Chain("clean up") { [journal] in
        try await step("find") { journal.add("find") }
        let isNoted: Void? = try await step("note") { journal.all.isEmpty ? nil : journal.add("note") }
        try await step("delete") { journal.add(isNoted == nil ? "lost" : "delete") }
      }
    }

    private var report: Chain<Void, Int> {
      Chain("report") { [journal] in
        try await step("count") {
          journal.add("count")
          return 7
        }
      }
    }

    private func ship(_ body: @escaping @Sendable () async throws -> Void = {}) -> Chain<Int, Void> {
      Chain("ship") { [journal] (parcel: Int) in
        try await step("pack") {
          journal.add("pack \(parcel)")
        } undo: {
          journal.add("unpack \(parcel)")
        }
        try await step("send", body)
      }
    }

    // G232
    @Test
    func `Chains without an input or an output are enqueued, run and awaited`() async throws {
      let (cleanUp, report, ship) = (cleanUp, report, ship())
      let fleet = test.fleet()
      fleet.register(cleanUp)
      fleet.register(report)
      fleet.register(ship)
      #expect(try await fleet.enqueue(cleanUp, id: "a"))
      #expect(try await !fleet.enqueue(cleanUp, id: "a"))
      #expect(try await fleet.enqueue(report, id: "b"))
      #expect(try await fleet.enqueue(ship, 3, id: "c"))
      #expect(try await fleet.enqueue(report, ids: ["b", "d", "e"]) == 2)
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.result(of: "a", as: cleanUp)
        #expect(try await fleet.result(of: "b", as: report) == 7)
        try await fleet.result(of: "c", as: ship)
        #expect(try await fleet.result(of: "e", as: report) == 7)
      }
      #expect(["find", "note", "delete", "pack 3"].map(journal.count) == [1, 1, 1, 1])
      // What is stored is JSON, which tools show.
      let values = "SELECT first::json ->> 'input', stage::json::text FROM @.jobs WHERE id = 'a'"
      let rows = try await fleet.database.run(values)
      #expect(rows.first?.text(0) == "{}" && rows.first?.text(1) == "{}")
    }

    // G232
    @Test
    func `A chain without an output that fails is undone, and its waiters receive its error`() async throws {
      let ship = ship { throw Refused() }
      let fleet = test.fleet()
      fleet.register(ship)
      try await fleet.enqueue(ship, 3, id: "c")
      try await test.withWorkers([fleet]) { () async throws in
        await #expect(throws: Refused()) { try await fleet.result(of: "c", as: ship) }
      }
      #expect(journal.all == ["pack 3", "unpack 3"])
    }

    // G232
    @Test
    func `A chain without an output continues on another worker`() async throws {
      let (reached, release) = (Once<Void>(), Once<Void>())
      let ship = ship {
        guard reached.settled == nil else { return }
        reached.settle(())
        await release.valueIgnoringCancellation()
        try Task.checkCancellation()
      }
      let (first, second) = (test.fleet(), test.fleet())
      for fleet in [first, second] { fleet.register(ship) }
      try await first.enqueue(ship, 3, id: "c")
      try await test.withWorkers([first]) { () async throws in
        await reached.valueIgnoringCancellation()
        // The lease of a worker that does not answer any more.
        try await first.database.run("UPDATE @.workers SET lease_until = '-infinity'")
        try await test.withWorkers([second]) { () async throws in try await second.result(of: "c", as: ship) }
        release.settle(())
      }
      #expect(journal.all == ["pack 3"])
    }

    // G232
    @Test
    func `A child without an output is awaited, and a chain without an input runs on a schedule`() async throws {
      let (ship, report) = (ship(), report)
      let order = Chain("order") { (count: Int) in
        let parcels = (0..<count).map { FleetChild(ship, $0, id: "\($0)") }
        let sent = try await step("parcels", children: parcels, options: FleetOptions(tags: ["b", "a"]))
        for parcel in sent { try parcel.get() }
        return sent.count
      }
      let fleet = test.fleet()
      fleet.register(ship)
      fleet.register(report)
      fleet.register(order)
      try await fleet.schedule("nightly", cron: "0 3 1 1 *", report)
      let id = try await fleet.runSchedule("nightly")
      try await fleet.enqueue(order, 2, id: "o")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: id, as: report) == 7)
        #expect(try await fleet.result(of: "o", as: order) == 2)
        #expect(try await fleet.status(of: "o/parcels/1")?.tags == ["a", "b"])
      }
      #expect(journal.all.filter { $0.hasPrefix("pack") }.sorted() == ["pack 0", "pack 1"])
    }

    @Test
    func `A transaction of the caller's and a signal start chains without an input`() async throws {
      let waiting = Chain("waiting") { try await step("go", waitFor: Int.self) }
      let report = report
      let fleet = test.fleet()
      fleet.register(waiting)
      fleet.register(report)
      try await fleet.enqueue(waiting, id: "w", sending: 5, signal: "go", signalID: "1")
      try await fleet.enqueue(report, ids: ["t"]) { statement in
        try await fleet.database.run(statement.sql, statement.parameters.map { PostgresValue.text($0) })
      }
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "w", as: waiting) == 5)
        #expect(try await fleet.result(of: "t", as: report) == 7)
      }
    }
  }
#endif
