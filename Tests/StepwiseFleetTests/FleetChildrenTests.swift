// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import FleetWorkerChild
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetChildrenTests {
    struct Refused: Error, Codable, Equatable {
      var parcel: Int
    }

    let test = TestFleet()
    let journal = Journal()

    /// Packs a parcel, and does what the test wants.
    private func parcel(_ post: @escaping @Sendable (Int) async throws -> Void = { _ in }) -> Chain<Int, String> {
      Chain("parcel") { [journal] (number: Int) in
        try await step("pack") {
          journal.add("pack \(number)")
        } undo: {
          journal.add("unpack \(number)")
        }
        try await step("post") { try await post(number) }
        return "receipt \(number)"
      }
    }

    /// Reserves, sends parcels, and ships; what the last step does is the test's.
    private func order(
      _ parcel: Chain<Int, String>,
      _ ship: @escaping @Sendable () async throws -> Void = {}
    ) -> Chain<Int, [String]> {
      Chain("order") { [journal] (count: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        let receipts = try await step("parcels", children: (0..<count).map { FleetChild(parcel, $0, id: "\($0)") })
        try await step("ship") {
          journal.add("ship")
          try await ship()
        }
        return receipts.map { receipt in
          switch receipt {
          case .success(let text): text
          case .failure(let error): "\(error)"
          }
        }
      }
    }

    private var sorted: [String] { journal.all.sorted() }

    // G227
    @Test
    func `A chain starts children, waits for them without a slot, and sees failures as values`() async throws {
      let parcel = parcel { if $0 == 1 { throw Refused(parcel: 1) } }
      let work = Work.script(last: 2)
      let broken = Work.script(last: 2) { _, _, _ in throw Refused(parcel: 9) }
      let order = Chain("order") { (count: Int) in
        let receipts = try await step("parcels", children: (0..<count).map { FleetChild(parcel, $0, id: "\($0)") })
        let all: [FleetChild<String>] = [
          FleetChild(work, id: "work").map { "\($0)" },
          FleetChild(broken, id: "broken").map { "\($0)" },
          FleetChild(parcel, 7, id: "parcel"),
        ]
        let others = try await step("others", children: all)
        let none = try await step("none", children: [FleetChild<String>]())
        #expect(none.isEmpty)
        return (receipts + others).map { result in
          switch result {
          case .success(let text): text
          case .failure(let error as Refused): "refused \(error.parcel)"
          case .failure(let error): "\((error as? FleetError).map { _ in "dead letter" } ?? "\(error)")"
          }
        }
      }
      // With one slot, a parent that held it would wait for ever.
      let fleet = test.fleet(slots: 1)
      fleet.register(order)
      fleet.register(parcel)
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      try await fleet.enqueue(order, 3, id: "order-7")
      try await fleet.enqueue(order, 2, id: "order-8")
      try await test.withWorkers([fleet]) { () async throws in
        let last = ["2", "dead letter", "receipt 7"]
        #expect(try await fleet.result(of: "order-7", as: order) == ["receipt 0", "refused 1", "receipt 2"] + last)
        #expect(try await fleet.result(of: "order-8", as: order) == ["receipt 0", "refused 1"] + last)
      }
      // The one that failed has unpacked.
      #expect(journal.count("pack 1") == 2 && journal.count("unpack 1") == 2 && journal.count("unpack 0") == 0)
      let children = try await fleet.statuses(of: ["order-7/parcels/0", "order-7/others/work", "order-8/others/parcel"])
      #expect(children.map(\.parent).sorted { $0 ?? "" < $1 ?? "" } == ["order-7", "order-7", "order-8"])
      #expect(try await fleet.counts().values.reduce(0, +) == 2 + 3 + 2 + 6)
    }

    // G228
    @Test
    func `No child is started twice or lost when the parent's worker is killed`() async throws {
      let fleet = test.fleet()
      let workers = WorkerProcesses(server ?? "", schema: test.schema, lease: 1, slots: 4)
      let order = CrashOrder(journal: workers.journal, rounds: 1, fails: false)
      // The worker dies when the children are stored, and before the wait for them is.
      try await fleet.enqueue(CrashFamily.parent, order, id: "7")
      try await fleet.database.run(
        """
        CREATE FUNCTION @.stop() RETURNS trigger LANGUAGE plpgsql AS $stop$
        BEGIN
          RAISE EXCEPTION 'not now' USING ERRCODE = '57014';
        END
        $stop$
        """
      )
      try await fleet.database.run(
        """
        CREATE TRIGGER stop BEFORE UPDATE OF state ON @.jobs FOR EACH ROW
          WHEN (NEW.state = 'waiting' OR NEW.id <> '7' AND NEW.state = 'running') EXECUTE FUNCTION @.stop()
        """
      )
      let first = try workers.launch()
      try await waitUntil("the children exist") { try await fleet.statuses(of: ["7/parcels/0"]).count == 1 }
      #expect(try await workers.kill(first))
      #expect(try await fleet.status(of: "7")?.state == .running)
      #expect(try await fleet.counts()[.queued] == 3)
      try await fleet.database.run("DROP TRIGGER stop ON @.jobs")
      try workers.launch()
      #expect(try await fleet.result(of: "7", as: CrashFamily.parent) == 3)
      #expect(try await fleet.counts() == [.done: 4])
      let lines = try workers.executions().keys.filter { !$0.contains("> ") }.map { String($0.prefix { $0 != " " }) }
      let expected = ["7.reserve", "7.ship"] + (0..<3).flatMap { ["7/parcels/\($0).pack", "7/parcels/\($0).post"] }
      #expect(lines.sorted() == expected)
    }

    // G229
    @Test(arguments: [true, false])
    func `A parent that fails undoes its children first, and then its steps`(keepsStages: Bool) async throws {
      let order = Chain("order") { [journal, parcel = parcel()] (count: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        let children = (0..<count).map { FleetChild(parcel, $0, id: "\($0)") }
        _ = try await step("parcels", children: children, options: FleetOptions(keepsStages: keepsStages))
        _ = try await step("pieces", children: [FleetChild(Work.script(last: 2), id: "one")])
        try await step("ship") { throw Refused(parcel: 0) }
        return count
      }
      let fleet = test.fleet(slots: 2)
      fleet.register(order)
      fleet.register(parcel())
      fleet.register(Work.self)
      try await fleet.enqueue(order, 2, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        _ = await #expect(throws: Refused.self) { try await fleet.result(of: "order-7", as: order) }
      }
      #expect(sorted == ["pack 0", "pack 1", "reserve", "undo reserve", "unpack 0", "unpack 1"])
      #expect(journal.all.last == "undo reserve")
      let children = try await fleet.statuses(of: ["order-7/parcels/0", "order-7/parcels/1"])
      #expect(children.allSatisfy { $0.state == .cancelled && $0.cancellationReason?.contains("order-7") == true })
      // A progression has nothing to undo.
      #expect(try await fleet.status(of: "order-7/pieces/one")?.state == .done)
      // Run again, it starts other children.
      #expect(try await fleet.requeue("order-7"))
      try await test.withWorkers([fleet]) { () async throws in
        _ = await #expect(throws: Refused.self) { try await fleet.result(of: "order-7", as: order) }
      }
      #expect(journal.count("pack 0") == 2 && journal.count("unpack 0") == 2 && journal.count("undo reserve") == 2)
    }

    @Test
    func `A time limit around children cancels those that run, and undoes those that are done`() async throws {
      let parcel = parcel { if $0 == 1 { try await step("stamp", waitFor: Int.self) } }
      let order = Chain("order") { [journal] (count: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        do {
          try await steps("limited", timeout: .seconds(10)) {
            try await step("parcels", children: (0..<count).map { FleetChild(parcel, $0, id: "\($0)") })
          }
        } catch is TimeoutError {
          try await step("give up") { journal.add("give up") }
        }
        return count
      }
      let fleet = test.fleet(slots: 1)
      fleet.register(order)
      fleet.register(parcel)
      try await fleet.enqueue(order, 2, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        // On a busy machine, the limit may be over before this looks.
        try await waitUntil("it waits with a limit") {
          let wait = try await fleet.status(of: "order-7")?.wait
          return wait?.reason == .children && wait?.until != nil || journal.count("give up") == 1
        }
        #expect(try await fleet.result(of: "order-7", as: order) == 2)
      }
      #expect(sorted == ["give up", "pack 0", "pack 1", "reserve", "unpack 0", "unpack 1"])
      #expect(journal.all.last == "give up")
    }

    // G240
    @Test
    func `A cancelled parent cancels its children, and is undone when they are`() async throws {
      let release = Once<Void>()
      let parcel = parcel {
        if $0 == 1 {
          await release.valueIgnoringCancellation()
          try await untilCancelled()
        }
      }
      let order = order(parcel)
      let fleet = test.fleet()
      fleet.register(order)
      fleet.register(parcel)
      try await fleet.enqueue(order, 2, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.done, of: "order-7/parcels/0")
        try await fleet.waitForState(.waiting, of: "order-7")
        try await waitUntil("the second one runs") { journal.count("pack 1") == 1 }
        #expect(try await fleet.cancel("order-7", reason: "no money"))
        try await fleet.waitForState(.cancelled, of: "order-7/parcels/0")
        // Its worker cannot interrupt the other one.
        #expect(journal.count("undo reserve") == 0)
        release.settle(())
        try await fleet.waitForState(.cancelled, of: "order-7")
      }
      #expect(sorted == ["pack 0", "pack 1", "reserve", "undo reserve", "unpack 0", "unpack 1"])
      #expect(journal.all.last == "undo reserve")
      #expect(try await fleet.status(of: "order-7")?.cancellationReason == "no money")
    }

    @Test
    func `A parent is a dead letter while a child's undo fails, and ends when the child is repaired`() async throws {
      let isBroken = Flag()
      let parcel = Chain("parcel") { [journal] (number: Int) in
        try await step("pack") {
          journal.add("pack")
        } undo: {
          if isBroken.isSet { throw Refused(parcel: number) }
          journal.add("unpack")
        }
        return "receipt"
      }
      let order = order(parcel) { throw Refused(parcel: 0) }
      let fleet = test.fleet()
      let retry = RetryPolicy(maxAttempts: 1, backoff: .none)
      fleet.register(order, retry: retry)
      fleet.register(parcel, retry: retry)
      try await fleet.enqueue(order, 1, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.failed, of: "order-7")
        #expect(try await fleet.status(of: "order-7")?.isUndone == false)
        #expect(try await fleet.status(of: "order-7/parcels/0")?.state == .failed)
        #expect(journal.all == ["reserve", "pack", "ship", "undo reserve"])
        isBroken.set(false)
        #expect(try await fleet.requeue("order-7/parcels/0"))
        try await fleet.waitForState(.cancelled, of: "order-7/parcels/0")
        #expect(try await fleet.requeue("order-7"))
        _ = await #expect(throws: Refused.self) { try await fleet.result(of: "order-7", as: order) }
      }
      #expect(journal.all == ["reserve", "pack", "ship", "undo reserve", "unpack"])
    }

    // G241
    @Test
    func `A chain runs by cron, each time with its own idempotency keys`() async throws {
      let chain = Chain("nightly") { [journal] (text: String) in
        try await step("report") { journal.add(CurrentStep.idempotencyKey ?? "") }
        return text
      }
      let fleet = test.fleet()
      fleet.register(chain)
      try await fleet.schedule("nightly", cron: "0 3 1 1 *", chain, "sales")
      let due = "UPDATE @.schedules SET next_at = date_trunc('minute', clock_timestamp()) - interval '1 hour'"
      try await test.withWorkers([fleet]) { () async throws in
        for count in 1...2 {
          try await fleet.database.run("\(due) * \(count)")
          try await fleet.waitUntilDone(count)
        }
        let id = try await fleet.runSchedule("nightly")
        #expect(try await fleet.result(of: id, as: chain) == "sales")
      }
      #expect(journal.all.count == 3 && Set(journal.all).count == 3)
      #expect(try await fleet.schedules().map(\.progression) == ["chain nightly"])
    }

    // G242
    @Test
    func `A parent that waits shows how many children have not ended`() async throws {
      let parcel = parcel { if $0 > 0 { try await step("stamp", waitFor: Int.self) } }
      let order = order(parcel)
      let fleet = test.fleet()
      fleet.register(order)
      fleet.register(parcel)
      try await fleet.enqueue(order, 13, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("one child has ended") {
          try await fleet.status(of: "order-7")?.wait?.openChildCount == 12
        }
        let wait = try #require(try await fleet.status(of: "order-7")?.wait)
        #expect(wait.reason == .children && wait.childCount == 13 && wait.details.count == 10)
        #expect("\(wait)".hasPrefix("12 of its 13 children: order-7/parcels/1, ") && "\(wait)".hasSuffix(", …"))
      }
    }

    // G243
    @Test
    func `Children that cannot be started are refused by name`() async throws {
      let parcel = parcel()
      let child = { @Sendable (id: String) in FleetChild(parcel, 1, id: id) }
      let chain = Chain("bad") { [journal] (kind: Int) in
        do {
          switch kind {
          case 0: try await step("twice", children: [child("a"), child("a")])
          case 1: try await step("long", children: [child(String(repeating: "x", count: 200))])
          case 2: try await step("outer") { _ = try await step("inner", children: [child("a")]).count }
          default: try await step("taken", children: [child("a")])
          }
        } catch let error as FleetError {
          journal.add("\(error)")
        }
        return kind
      }
      let fleet = test.fleet()
      fleet.register(chain)
      fleet.register(parcel)
      for kind in 0...3 { try await fleet.enqueue(chain, kind, id: "\(kind)") }
      // Another job has the id of a child.
      try await fleet.enqueue(Work.script(), id: "3/taken/a")
      try await test.withWorkers([fleet]) { () async throws in
        for kind in 0...1 { #expect(try await fleet.result(of: "\(kind)", as: chain) == kind) }
        for kind in 2...3 { try await fleet.waitForState(.failed, of: "\(kind)") }
        await #expect(throws: FleetError.childrenOutsideFleet(step: "parcels")) {
          try await order(parcel).run(1)
        }
      }
      #expect(journal.all.contains(#"step "twice" has two children with the id "a"; each needs its own"#))
      #expect(journal.all.contains { $0.contains("/long/xxx") && $0.contains("200 bytes") })
      #expect(try await fleet.status(of: "2")?.error?.contains("inside of the step inner") == true)
      #expect(try await fleet.status(of: "3")?.error?.contains("3/taken/a") == true)
      #expect(try await fleet.statuses(of: ["0/twice/a", "2/inner/a"]).isEmpty)
    }

    // G244
    @Test
    func `A child that is done keeps what its undo needs until all its parents have ended`() async throws {
      let parcel = parcel()
      let box = Chain("box") { (number: Int) in
        let parcels = try await step("parcels", children: [FleetChild(parcel, number, id: "a")])
        return parcels.count
      }
      let goes = Once<Void>()
      let order = Chain("order") { [journal] (count: Int) in
        _ = try await step(
          "boxes",
          children: [FleetChild(box, 1, id: "1")],
          options: FleetOptions(keepsStages: false)
        )
        try await step("ship") {
          journal.add("ship")
          await goes.valueIgnoringCancellation()
          throw Refused(parcel: 0)
        }
        return count
      }
      let fleet = test.fleet()
      fleet.register(order)
      fleet.register(box)
      fleet.register(parcel)
      try await fleet.enqueue(order, 1, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("it ships") { journal.count("ship") == 1 }
        #expect(try await fleet.prune(olderThan: .zero) == 0)
        goes.settle(())
        _ = await #expect(throws: Refused.self) { try await fleet.result(of: "order-7", as: order) }
      }
      #expect(journal.all == ["pack 1", "ship", "unpack 1"])
      #expect(try await fleet.prune(olderThan: .zero, states: [.done, .failed, .cancelled]) == 3)
      #expect(try await fleet.database.run("SELECT count(*) FROM @.entries").first?.integer(0) == 0)
    }

    // G245
    @Test
    func `A chain that waits for children and a signal continues with whichever comes first`() async throws {
      let parcel = parcel { _ in try await step("stamp", waitFor: Int.self) }
      let order = Chain("order") { [journal] (count: Int) in
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            try await step("parcels", children: [FleetChild(parcel, 1, id: "a")])
            try await step("after parcels") { journal.add("parcels") }
          }
          group.addTask {
            try await step("approval", waitFor: Int.self)
            try await step("after approval") { journal.add("approval") }
          }
          try await group.waitForAll()
        }
        return count
      }
      let fleet = test.fleet(slots: 1)
      fleet.register(order)
      fleet.register(parcel)
      for id in ["one", "two"] { try await fleet.enqueue(order, 1, id: id) }
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the parcels wait") { journal.count("pack 1") == 2 }
        try await fleet.waitForState(.scheduled, of: "one")
        try await fleet.send(1, to: "one", signal: "approval")
        try await waitUntil("the approval", within: .seconds(30)) { journal.count("approval") == 1 }
        try await fleet.waitForState(.waiting, of: "one")
        try await fleet.send(1, to: "one/parcels/a", signal: "stamp")
        #expect(try await fleet.result(of: "one", as: order) == 1)
        try await fleet.send(1, to: "two/parcels/a", signal: "stamp")
        try await waitUntil("the parcels") { journal.count("parcels") == 2 }
        try await fleet.send(1, to: "two", signal: "approval")
        #expect(try await fleet.result(of: "two", as: order) == 1)
      }
      #expect(journal.all.filter { !$0.hasPrefix("pack") } == ["approval", "parcels", "parcels", "approval"])
    }
  }
#endif
