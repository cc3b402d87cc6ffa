// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetSignalTests {
    struct Approval: Codable, Sendable, Equatable {
      var by: String
    }

    struct Rejection: Codable, Sendable, Equatable {
      var reason: String
    }

    enum Answer: Codable, Sendable, Equatable {
      case approved(Approval), rejected(Rejection)
    }

    let test = TestFleet()
    let journal = Journal()

    private static let cases: [FleetSignalCase<Answer>] = [
      .signal("approval", Answer.approved), .signal("rejection", Answer.rejected),
    ]

    private func fleet(maxParked: Int = 1_000) -> Fleet {
      var configuration = test.fleet(slots: 4).configuration
      configuration.maxParked = maxParked
      return Fleet(server ?? "", configuration: configuration)
    }

    /// Waits for two answers.
    private func order(timeout: Duration? = nil) -> Chain<Int, [Answer]> {
      Chain("order") { [journal] (count: Int) in
        try await step("reserve") { journal.add("reserve \(count)") }
        let first = try await step("answer", waitForAny: Self.cases, timeout: timeout)
        let second = try await step("second answer", waitForAny: Self.cases)
        return [first, second]
      }
    }

    // G220
    @Test(arguments: [1_000, 0])
    func `A step receives the first of several signals, and the next step the next one`(maxParked: Int) async throws {
      let order = order()
      let fleet = fleet(maxParked: maxParked)
      fleet.register(order)
      try await fleet.enqueue(order, 1, id: "early")
      try await fleet.send(Rejection(reason: "price"), to: "early", signal: "rejection")
      try await fleet.send(Approval(by: "Ann"), to: "early", signal: "approval")
      try await fleet.enqueue(order, 2, id: "late")
      try await test.withWorkers([fleet]) { () async throws in
        let early = try await fleet.result(of: "early", as: order)
        #expect(early == [.rejected(Rejection(reason: "price")), .approved(Approval(by: "Ann"))])
        try await waitUntil("the order waits") { journal.count("reserve 2") == 1 }
        if maxParked == 0 { try await fleet.waitForState(.scheduled, of: "late") }
        // It cannot be read as an approval, and is skipped.
        if maxParked == 0 { try await fleet.send(7, to: "late", signal: "approval") }
        try await fleet.send(Rejection(reason: "size"), to: "late", signal: "rejection")
        try await fleet.send(Rejection(reason: "again"), to: "late", signal: "rejection")
        let late = try await fleet.result(of: "late", as: order)
        #expect(late == [.rejected(Rejection(reason: "size")), .rejected(Rejection(reason: "again"))])
      }
      #expect(try await fleet.refusedSignals(of: "late").map(\.name) == (maxParked == 0 ? ["approval"] : []))
      #expect(journal.all.count == 2)
    }

    // G213
    @Test(arguments: [1_000, 0])
    func `Work that is decided ends, although a part of it waits`(maxParked: Int) async throws {
      let answered = Chain("answer") { (_: Int) in try await step("answered", waitFor: String.self) }
      let race = Chain.race(
        answered,
        Chain("clock") { (_: Int) in
          try await step("tick", sleep: .milliseconds(300))
          return "too late"
        }
      ).named("race")
      let zip = Chain.zip(
        answered,
        Chain("pack") { (input: Int) -> Int in
          try await step("shelf", sleep: .milliseconds(300))
          throw Rejected(reason: "broken")
        }
      ).then("both") { $0.0 }.recover(from: Rejected.self) { $0.reason }.named("zip")
      let group = Chain("group") { (_: Int) in
        try await withThrowingTaskGroup(of: String.self) { group in
          for name in ["yes", "no"] { group.addTask { try await step(name, waitFor: String.self) } }
          defer { group.cancelAll() }
          return try await group.next() ?? ""
        }
      }
      let limited = answered.timeout(.milliseconds(300)).recover(from: TimeoutError.self) { _ in "over" }.named(
        "limited"
      )
      let fleet = fleet(maxParked: maxParked)
      for chain in [race, zip, group, limited] {
        fleet.register(chain)
        try await fleet.enqueue(chain, 1, id: chain.hostedName)
      }
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: race.hostedName, as: race) == "too late")
        #expect(try await fleet.result(of: zip.hostedName, as: zip) == "broken")
        #expect(try await fleet.result(of: limited.hostedName, as: limited) == "over")
        try await fleet.send("never", to: group.hostedName, signal: "no")
        #expect(try await fleet.result(of: group.hostedName, as: group) == "never")
      }
    }

    private struct Rejected: Error, Codable {
      let reason: String
    }

    @Test
    func `A wait for any signal has a time limit, and names the signals that it cannot wait for`() async throws {
      let order = order(timeout: .milliseconds(50))
      let empty = Chain("empty") { (_: Int) in try await step("none", waitForAny: [FleetSignalCase<Answer>]()) }
      let fleet = fleet()
      fleet.register(order)
      fleet.register(empty)
      try await fleet.enqueue(order, 1, id: "order")
      try await fleet.enqueue(empty, 1, id: "empty")
      try await test.withWorkers([fleet]) { () async throws in
        let timeout = await #expect(throws: TimeoutError.self) { try await fleet.result(of: "order", as: order) }
        #expect(timeout?.step == "answer")
        await #expect(throws: (any Error).self) { try await fleet.result(of: "empty", as: empty) }
        #expect(try await fleet.status(of: "empty")?.error?.contains("\"none\" names no signal") == true)
      }
      await #expect(throws: FleetError.outsideFleet(signal: "approval")) {
        try await step("answer", waitForAny: Self.cases)
      }
    }

    @Test
    func `A stage receives the first of several signals`() async throws {
      let answers = Lock<[Answer]>([])
      let work = Work.script(last: 2) { _, _, _ in
        guard let answer = try await FleetJob.current?.wait("answer", forAny: Self.cases) else { return }
        answers.withLock { $0.append(answer) }
      }
      let fleet = fleet()
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "work")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.running, of: "work")
        try await fleet.send(Approval(by: "Ann"), to: "work", signal: "approval")
        #expect(try await fleet.result(of: "work", as: Work.self) == 2)
      }
      #expect(answers.withLock { $0 } == [.approved(Approval(by: "Ann"))])
    }

    // G221
    @Test
    func `A signal with start enqueues one order and is received once, however often it is sent`() async throws {
      let order = Chain("order") { [journal] (count: Int) in
        let approval = try await step("approval", waitFor: Approval.self)
        journal.add(approval.by)
        _ = try? await step("another", waitFor: Approval.self, signal: "approval", timeout: .milliseconds(100))
        return count
      }
      let fleet = fleet()
      fleet.register(order)
      let added = try await withThrowingTaskGroup { group in
        for count in 0..<20 {
          group.addTask {
            try await fleet.enqueue(
              order,
              count,
              id: "order-7",
              sending: Approval(by: "Ann"),
              signal: "approval",
              signalID: "button"
            )
          }
        }
        return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(added == 1)
      #expect(try await fleet.database.run("SELECT FROM @.signals").count == 1)
      try await test.withWorkers([fleet]) { () async throws in
        _ = try await fleet.result(of: "order-7", as: order)
      }
      #expect(journal.all == ["Ann"])
      let again = { @Sendable (id: String, message: String, replacing: FleetOptions.Replacement) in
        try await fleet.enqueue(
          order,
          1,
          id: id,
          options: FleetOptions(replacing: replacing),
          sending: Approval(by: "Bob"),
          signal: "approval",
          signalID: message
        )
      }
      // The order has it, and has ended.
      #expect(try await !again("order-7", "button", .nothing))
      await #expect(throws: FleetError.ended(id: "order-7", state: .done)) {
        try await again("order-7", "other", .nothing)
      }
      // The signal belongs to the new order, and what the old one was sent does not.
      #expect(try await again("order-7", "button", .finished))
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "order-7", as: order) == 1)
      }
      #expect(journal.all == ["Ann", "Bob"])
    }

    @Test
    func `A signal with start that cannot be sent enqueues nothing`() async throws {
      let order = order()
      let fleet = fleet()
      try await fleet.enqueue(Work.script(), id: "work")
      await #expect(throws: FleetError.foreignType(id: "work", stored: FleetBatchName.work, expected: "chain order")) {
        try await fleet.enqueue(order, 1, id: "work", sending: 1, signal: "approval", signalID: "a")
      }
      await #expect(throws: FleetError.self) {
        try await fleet.enqueue(order, 1, id: "order", sending: Unencodable(), signal: "approval", signalID: "a")
      }
      await #expect(throws: FleetError.self) {
        try await fleet.enqueue(order, 1, id: "order", sending: 1, signal: "a\0b", signalID: "a")
      }
      #expect(try await fleet.counts() == [.queued: 1])
      #expect(try await fleet.database.run("SELECT FROM @.signals").isEmpty)
      #expect(try await fleet.enqueue(Work.script(), id: "new", sending: 1, signal: "go", signalID: "a"))
      #expect(try await fleet.database.run("SELECT FROM @.signals").count == 1)
    }

    // G222
    @Test
    func `A dropped signal ends no wait, and is not delivered when it is sent again`() async throws {
      let order = order()
      let fleet = fleet()
      fleet.register(order)
      try await fleet.enqueue(order, 1, id: "order")
      for id in ["a", "b"] { try await fleet.send(Approval(by: id), to: "order", signal: "approval", id: id) }
      try await fleet.send(Rejection(reason: "c"), to: "order", signal: "rejection", id: "c")
      #expect(try await fleet.dropSignal("approval", of: "order", id: "a") == 1)
      #expect(try await fleet.dropSignal("approval", of: "order", id: "a") == 0)
      #expect(try await !fleet.send(Approval(by: "a"), to: "order", signal: "approval", id: "a"))
      try await test.withWorkers([fleet]) { () async throws in
        let answers = try await fleet.result(of: "order", as: order)
        #expect(answers == [.approved(Approval(by: "b")), .rejected(Rejection(reason: "c"))])
      }
      #expect(try await fleet.dropSignal("approval", of: "order") == 0)
      await #expect(throws: FleetError.notFound(id: "none")) { try await fleet.dropSignal("approval", of: "none") }
    }

    @Test
    func `A stage whose signal is dropped before it is saved receives another one`() async throws {
      let fleet = fleet()
      let work = Work.script(last: 2) { [journal] id, _, _ in
        guard let approval = try await FleetJob.current?.waitForSignal("approval", as: Approval.self) else { return }
        journal.add(approval.by)
        if approval.by == "Ann" { #expect(try await fleet.dropSignal("approval", of: id) == 1) }
      }
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "work")
      try await fleet.send(Approval(by: "Ann"), to: "work", signal: "approval")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the stage receives the signal") { journal.count("Ann") == 1 }
        try await fleet.send(Approval(by: "Bob"), to: "work", signal: "approval")
        #expect(try await fleet.result(of: "work", as: Work.self) == 2)
      }
      #expect(journal.all == ["Ann", "Bob"])
    }

    @Test
    func `An entry that consumes a dropped signal is not stored`() async throws {
      let order = order()
      let fleet = fleet()
      fleet.register(order)
      let limit = Duration.seconds(30)
      let worker = try await fleet.registerWorker(within: limit)
      try await fleet.enqueue(order, 1, id: "order")
      for id in ["a", "b"] { try await fleet.send(Approval(by: id), to: "order", signal: "approval", id: id) }
      let types = fleet.registrations.withLock { Array($0.values) }
      let row = try #require(try await fleet.claim(1, as: worker, knowing: nil, of: types, within: limit).first)
      let numbers = try await fleet.database.run("SELECT number FROM @.signals ORDER BY number")
        .compactMap { $0.integer(0) }
      #expect(try await fleet.dropSignal("approval", of: "order", id: "a") == 1)
      let writes = numbers.map { EntrySave(claim: row.claim, number: 2, entry: [UInt8($0 % 250)], signals: [$0]) }
      #expect(try await fleet.store([writes[0]], within: limit) == [false])
      #expect(try await fleet.store([writes[1]], within: limit) == [true])
      #expect(try await fleet.dropSignal("approval", of: "order", id: "b") == 0)
    }
  }

  private struct Unencodable: Codable {
    func encode(to encoder: any Encoder) throws {
      throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "never"))
    }
  }

  private enum FleetBatchName {
    static let work = StageCoder<Work>().name
  }
#endif
