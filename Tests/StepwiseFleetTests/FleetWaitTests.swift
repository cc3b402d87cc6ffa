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
  struct FleetWaitTests {
    struct Cart: Codable, Sendable, Equatable {
      var count = 1
    }

    struct Approval: Codable, Sendable, Equatable {
      var by: String
    }

    let test = TestFleet()
    let journal = Journal()

    private func fleet(slots: Int = 1, maxParked: Int = 1_000, listens: Bool = true) -> Fleet {
      let fleet = test.fleet(slots: slots, listens: listens)
      var configuration = fleet.configuration
      configuration.maxParked = maxParked
      return Fleet(server ?? "", configuration: configuration)
    }

    /// Reserves and waits for an approval.
    private func order(timeout: Duration? = nil) -> Chain<Cart, String> {
      Chain("order") { [journal] (cart: Cart) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        let approval = try await step("approval", waitFor: Approval.self, timeout: timeout)
        try await step("ship") { journal.add("ship") }
        return approval.by
      }
    }

    private func sleeper(_ duration: Duration) -> Chain<Cart, Int> {
      Chain("sleeper") { [journal] (cart: Cart) in
        try await step("before") {
          journal.add("before")
        } undo: {
          journal.add("undo before")
        }
        try await step("cool down", sleep: duration)
        try await step("after") { journal.add("after") }
        return cart.count
      }
    }

    private func states(_ fleet: Fleet, _ state: FleetState) async throws -> Int {
      try await fleet.counts()[state] ?? 0
    }

    @Test
    func `Orders that sleep or wait take no slot and can be cancelled`() async throws {
      let (order, sleeper) = (order(), sleeper(.seconds(86_400)))
      let fleet = fleet()
      fleet.register(order)
      fleet.register(sleeper)
      fleet.register(Work.self)
      let ids = (0..<5).map { "sleep-\($0)" } + ["wait"]
      for id in ids.dropLast() { try await fleet.enqueue(sleeper, Cart(), id: id) }
      try await fleet.enqueue(order, Cart(), id: "wait")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("all have begun") { journal.all.count == 6 }
        try await fleet.enqueue(Work.script(), id: "work")
        #expect(try await fleet.result(of: "work", as: Work.self) == 3)
        #expect(try await states(fleet, .running) == 6)
        #expect(try await fleet.cancel(ids) == 6)
        for id in ids { try await fleet.waitForState(.cancelled, of: id) }
      }
      #expect(journal.count("undo before") == 5)
      #expect(journal.count("undo reserve") == 1)
      #expect(journal.count("after") + journal.count("ship") == 0)
    }

    @Test(arguments: [0, 1_000]
    )
    func `An order beyond the limit for parked ones is stopped and replayed`(maxParked: Int) async throws {
      let sleeper = sleeper(.seconds(1))
      let fleet = fleet(slots: 4, maxParked: maxParked)
      fleet.register(sleeper)
      for id in 0..<4 { try await fleet.enqueue(sleeper, Cart(count: id), id: "\(id)") }
      let start = ContinuousClock.now
      let stops = Journal()
      try await test.withWorkers([fleet]) {
        if case .ended(let id, _, .scheduled, _, _) = $0 { stops.add(id) }
      } _: { () async throws in
        for id in 0..<4 { #expect(try await fleet.result(of: "\(id)", as: sleeper) == id) }
      }
      #expect(ContinuousClock.now - start >= .seconds(1))
      #expect(stops.all.sorted() == (maxParked == 0 ? ["0", "1", "2", "3"] : []))
      #expect(["before", "after"].map(journal.count) == [4, 4])
      let fences = try await fleet.database.run("SELECT count(*) FROM @.jobs WHERE attempt = 1").first?.integer(0)
      #expect(fences == 4)
    }

    @Test(arguments: [(1_000, true), (1_000, false), (0, true)]
    )
    func `A signal ends the wait of a parked, a polling and a stopped order`(maxParked: Int, listens: Bool) async throws
    {
      let order = order()
      let fleet = fleet(maxParked: maxParked, listens: listens)
      fleet.register(order)
      try await fleet.enqueue(order, Cart(), id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the order waits") { journal.count("reserve") == 1 }
        if maxParked == 0 { try await fleet.waitForState(.scheduled, of: "order-7") }
        #expect(try await fleet.send(Approval(by: "Ann"), to: "order-7", signal: "approval", id: "mail-1"))
        #expect(try await fleet.result(of: "order-7", as: order) == "Ann")
        #expect(try await !fleet.send(Approval(by: "Bob"), to: "order-7", signal: "approval", id: "mail-1"))
        await #expect(throws: FleetError.ended(id: "order-7", state: .done)) {
          try await fleet.send(Approval(by: "Bob"), to: "order-7", signal: "approval")
        }
      }
      await #expect(throws: FleetError.notFound(id: "order-8")) {
        try await fleet.send(Approval(by: "Bob"), to: "order-8", signal: "approval")
      }
      #expect(journal.all == ["reserve", "ship"])
    }

    @Test
    func `Waits that are over leave nothing in the process`() async throws {
      let chain = Chain("order") { (_: Cart) in
        try await step("pause", sleep: .milliseconds(50))
        let approval = try await step("approval", waitFor: Approval.self)
        _ = try? await step("timeout", waitFor: Approval.self, timeout: .milliseconds(50))
        return approval.by
      }
      let work = Work.script(last: 2) { _, _, _ in
        try await FleetJob.current?.sleep(for: .milliseconds(50))
        _ = try await FleetJob.current?.waitForSignal("approval", as: Approval.self)
      }
      let fleet = fleet()
      fleet.register(chain)
      fleet.register(Work.self)
      try await fleet.enqueue(chain, Cart(), id: "order")
      try await fleet.enqueue(work, id: "work")
      try await test.withWorkers([fleet]) { () async throws in
        for id in ["order", "work"] {
          try await waitUntil("\(id) waits for its signal") {
            fleet.hub.calls.withLock { $0[id]?.count == 1 }
          }
          try await fleet.send(Approval(by: "Ann"), to: id, signal: "approval")
        }
        #expect(try await fleet.result(of: "order", as: chain) == "Ann")
        #expect(try await fleet.result(of: "work", as: Work.self) == 2)
      }
      #expect(fleet.hub.calls.withLock { $0.isEmpty })
    }

    @Test
    func `Early signals are kept, and received in order, once for each id`() async throws {
      let order = Chain("order") { (count: Int) in
        var names: [String] = []
        for _ in 0..<count { names.append(try await step("approval", waitFor: Approval.self).by) }
        let other = try await step("other", waitFor: Int.self, signal: "number")
        return names + ["\(other)"]
      }
      let fleet = fleet()
      fleet.register(order)
      try await fleet.enqueue(order, 3, id: "order-7")
      #expect(try await fleet.send(7, to: "order-7", signal: "number"))
      for (name, id) in [("Ann", "1"), ("Ann", "1"), ("Bob", "2"), ("Cy", "3"), ("Bob", "2")] {
        try await fleet.send(Approval(by: name), to: "order-7", signal: "approval", id: id)
      }
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "order-7", as: order) == ["Ann", "Bob", "Cy", "7"])
      }
      let signals = "SELECT count(*) FROM @.signals"
      #expect(try await fleet.prune(olderThan: .zero) == 1)
      #expect(try await fleet.database.run(signals).first?.integer(0) == 0)
      // A run does not receive the signals of the one that it replaces.
      try await fleet.enqueue(order, 3, id: "order-7")
      try await fleet.send(7, to: "order-7", signal: "number")
      try await fleet.database.run("UPDATE @.jobs SET state = 'done', finished_at = now()")
      #expect(try await fleet.enqueue(order, 3, id: "order-7", options: FleetOptions(replacing: .finished)))
      #expect(try await fleet.database.run(signals).first?.integer(0) == 0)
    }

    @Test(arguments: [0, 1_000])
    func `A wait without a signal ends with its timeout, which is stored`(maxParked: Int) async throws {
      let (reached, release) = (Once<Void>(), Once<Void>())
      let order = Chain("order") { [journal] (cart: Cart) in
        do {
          return try await step("approval", waitFor: Approval.self, timeout: .milliseconds(500)).by
        } catch let error as TimeoutError {
          try await step("remind") {
            journal.add("remind \(error.step)")
            reached.settle(())
            await release.valueIgnoringCancellation()
          }
          return try await step("approval", waitFor: Approval.self).by
        }
      }
      let (first, second) = (fleet(maxParked: maxParked), fleet(maxParked: maxParked))
      for fleet in [first, second] { fleet.register(order) }
      try await first.enqueue(order, Cart(), id: "order-7")
      let token = CancellationToken()
      async let drained: Void = first.work(until: token)
      _ = try await reached.value(of: "the wait is over")
      try await first.send(Approval(by: "Ann"), to: "order-7", signal: "approval")
      token.cancel()
      release.settle(())
      try await drained
      try await test.withWorkers([second]) { () async throws in
        #expect(try await second.result(of: "order-7", as: order) == "Ann")
      }
      #expect(journal.all == ["remind approval"])
    }

    @Test
    func `A stage that waits when its worker begins to drain is suspended`() async throws {
      let fleet = Fleet(MemoryFleetStore(clock: ManualClock()))
      try await fleet.enqueue(Work.script(), id: "work")
      let worker = try await fleet.registerWorker(within: .seconds(5))
      let types = [
        FleetRegistration(
          Work.self,
          retry: RetryPolicy(maxAttempts: 1, backoff: .none),
          limits: .none,
          isRetryable: { _ in false }
        )
      ]
      let rows = try await fleet.claim(1, as: worker, knowing: nil, of: types, within: .seconds(5))
      let hub = fleet.hub
      let context = JobSurroundings(
        store: fleet.store,
        waitToRepeat: { throw $0 },
        hub: hub,
        payloads: fleet.payloads,
        report: { _ in },
        save: { _ in },
        append: { _ in },
        appendWithChildren: { _ in },
        park: { [journal] row in
          // Right after the job has given up its slot.
          journal.add("drain")
          hub.deliver(to: row.id)
          return true
        },
        storeParked: { _ in },
        unpark: { _ in },
        freeSlot: { _ in },
        isStopping: { [journal] _ in !journal.all.isEmpty }
      )
      let claim = ClaimedJob(try #require(rows.first), in: context)
      let job = FleetJob(fleet: fleet, id: claim.row.id, claim: claim)
      await #expect(throws: JobSuspension.self) { try await job.sleep(for: .seconds(86_400)) }
    }

    @Test
    func `A draining worker stops parked orders, and the next one resumes them`() async throws {
      let (order, sleeper) = (order(), sleeper(.seconds(86_400)))
      let (first, second) = (fleet(), fleet())
      for fleet in [first, second] {
        fleet.register(order)
        fleet.register(sleeper)
      }
      try await first.enqueue(order, Cart(), id: "wait")
      try await first.enqueue(sleeper, Cart(), id: "sleep")
      try await test.withWorkers([first]) { () async throws in
        try await waitUntil("both have begun") { journal.all.count == 2 }
        try await waitUntil("both have stored their waits") {
          try await first.database.run("SELECT count(*) FROM @.entries").first?.integer(0) ?? 0 >= 5
        }
      }
      #expect(try await first.counts() == [.scheduled: 2])
      try await test.withWorkers([second]) { () async throws in
        try await second.send(Approval(by: "Ann"), to: "wait", signal: "approval")
        #expect(try await second.result(of: "wait", as: order) == "Ann")
        #expect(try await second.status(of: "sleep")?.state == .scheduled)
        #expect(try await second.cancel("sleep"))
        try await second.waitForState(.cancelled, of: "sleep")
      }
      #expect(journal.all.sorted() == ["before", "reserve", "ship", "undo before"])
    }

    @Test
    func `A wait is queued at once if its signal has come or it is cancelled`() async throws {
      let order = order()
      let fleet = fleet()
      fleet.register(order)
      for id in ["signal", "cancelled", "waits"] { try await fleet.enqueue(order, Cart(), id: id) }
      try await fleet.send(Approval(by: "Ann"), to: "signal", signal: "approval")
      let worker = try await fleet.registerWorker(within: .seconds(5))
      let rows = try await fleet.claim(
        3,
        as: worker,
        knowing: [],
        of: Array(fleet.registrations.withLock { $0.values }),
        within: .seconds(5)
      )
      #expect(rows.count == 3)
      #expect(try await fleet.cancel("cancelled"))
      let ending = Ending(state: .scheduled, waitsFor: ["approval"], end: .infinity, isUncounted: true)
      for row in rows {
        #expect(try await fleet.store([EndedAttempt(claim: row.claim, ending: ending)], within: .seconds(5)) == [true])
      }
      #expect(try await fleet.status(of: "signal")?.state == .queued)
      #expect(try await fleet.status(of: "cancelled")?.state == .queued)
      #expect(try await fleet.status(of: "waits")?.state == .scheduled)
      // The wait has no end.
      #expect(try await fleet.names().first?.counts == [.queued: 2, .scheduled: 1])
    }

    @Test(arguments: [0, 1_000])
    func `A stage sleeps and waits for a signal without a slot`(maxParked: Int) async throws {
      let (journal, names) = (journal, Journal())
      let work = Work.script(last: 4) { _, step, _ in
        journal.add("stage \(step)")
        if step == 1 { try await FleetJob.current?.sleep(for: .milliseconds(300)) }
        if step == 2 {
          let approval = try await FleetJob.current?.waitForSignal("approval", as: Approval.self)
          names.add(approval?.by ?? "")
        }
        if step == 3 {
          await #expect(throws: TimeoutError.self) {
            try await FleetJob.current?.waitForSignal("approval", as: Approval.self, timeout: .zero)
          }
        }
      }
      let fleet = fleet(maxParked: maxParked)
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "work")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the second stage waits") { journal.count("stage 2") == 1 }
        if maxParked == 0 { try await fleet.waitForState(.scheduled, of: "work") }
        try await fleet.enqueue(Work.script(), id: "other")
        #expect(try await fleet.result(of: "other", as: Work.self) == 3)
        try await fleet.send(Approval(by: "Ann"), to: "work", signal: "approval")
        #expect(try await fleet.result(of: "work", as: Work.self) == 4)
      }
      #expect(names.all == ["Ann"])
      #expect(journal.count("stage 1") == (maxParked == 0 ? 2 : 1))
      #expect(journal.count("stage 2") == (maxParked == 0 ? 2 : 1))
    }

    @Test
    func `An order that waits does not count for the limits of its name`() async throws {
      let order = order()
      let fleet = fleet(slots: 4)
      fleet.register(order, limits: FleetLimits(running: 1))
      #expect(try await fleet.enqueue(order, (0..<3).map { (id: "\($0)", input: Cart()) }) == 3)
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("all wait") { try await states(fleet, .scheduled) == 3 }
        #expect(journal.count("reserve") == 3)
        for id in 0..<3 { try await fleet.send(Approval(by: "\(id)"), to: "\(id)", signal: "approval") }
        for id in 0..<3 { #expect(try await fleet.result(of: "\(id)", as: order) == "\(id)") }
      }
    }

    @Test
    func `A signal ends the wait of a step beside one that works, without notifications`() async throws {
      let release = Once<Void>()
      let both = Chain("both") { [journal] (cart: Cart) in
        try await withThrowingTaskGroup { group in
          group.addTask {
            let approval = try await step("approval", waitFor: Approval.self)
            journal.add(approval.by)
          }
          group.addTask {
            try await step("go", waitFor: Int.self)
            try await step("work") {
              journal.add("work")
              await release.valueIgnoringCancellation()
            }
          }
          try await group.waitForAll()
        }
        return cart.count
      }
      let fleet = fleet(listens: false)
      fleet.register(both)
      try await fleet.enqueue(both, Cart(), id: "both")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.send(1, to: "both", signal: "go")
        try await waitUntil("the step works") { journal.count("work") == 1 }
        try await fleet.send(Approval(by: "Ann"), to: "both", signal: "approval")
        try await waitUntil("the signal is received", within: .seconds(30)) { journal.count("Ann") == 1 }
        release.settle(())
        #expect(try await fleet.result(of: "both", as: both) == 1)
      }
    }

    @Test
    func `A step that works beside one that sleeps keeps the slot`() async throws {
      let release = Once<Void>()
      let both = Chain("both") { [journal] (cart: Cart) in
        try await withThrowingTaskGroup { group in
          group.addTask { try await step("sleep", sleep: .seconds(86_400)) }
          group.addTask {
            try await step("work") {
              journal.add("work")
              await release.valueIgnoringCancellation()
            }
          }
          try await group.waitForAll()
        }
        return cart.count
      }
      let fleet = fleet()
      fleet.register(both)
      fleet.register(Work.self)
      try await fleet.enqueue(both, Cart(), id: "both")
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the step works, and the other one sleeps") {
          try await fleet.database.run("SELECT count(*) FROM @.entries").first?.integer(0) ?? 0 >= 1
            && journal.count("work") == 1
        }
        try await fleet.enqueue(Work.script(), id: "work")
        #expect(try await fleet.status(of: "work")?.state == .queued)
        release.settle(())
        #expect(try await fleet.result(of: "work", as: Work.self) == 3)
        #expect(try await fleet.status(of: "both")?.state == .running)
        #expect(try await fleet.cancel("both"))
        try await fleet.waitForState(.cancelled, of: "both")
      }
    }

    @Test
    func `Waiting for a signal outside of a fleet's chain is an error`() async throws {
      await #expect(throws: FleetError.outsideFleet(signal: "approval")) { try await order().run(Cart()) }
      let store = MemoryCheckpointStore()
      await #expect(throws: (any Error).self) { try await order().run(Cart(), id: "order-7", in: store) }
    }
  }
#endif
