// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetChainTests {
    struct Cart: Codable, Sendable, Equatable {
      var count = 1
    }

    struct Refused: Error, Codable, Equatable {
      var card: String
    }

    let test = TestFleet()
    let journal = Journal()

    /// Reserves, charges and ships; what the last step does besides is the test's.
    private func order(_ ship: @escaping @Sendable () async throws -> Void = {}) -> Chain<Cart, String> {
      Chain("order") { [journal] (cart: Cart) in
        let place = try await step("reserve") {
          journal.add("reserve")
          return "place \(cart.count)"
        } undo: {
          journal.add("undo reserve \($0)")
        }
        try await step("charge") {
          journal.add("charge")
        } undo: {
          journal.add("undo charge")
        }
        try await step("ship") {
          journal.add("ship")
          try await ship()
        }
        try await step("thank") { journal.add("thank") }
        return place
      }
    }

    private func entries(_ fleet: Fleet) async throws -> Int64? {
      try await fleet.database.run("SELECT count(*) FROM @.entries").first?.integer(0)
    }

    @Test
    func `Two workers run each step of 100 orders once`() async throws {
      let order = order()
      let workers = (0..<2).map { _ in test.fleet() }
      for worker in workers { worker.register(order) }
      let elsewhere = test.fleet()
      let options = FleetOptions(keepsStages: false)
      for id in 0..<100 { #expect(try await elsewhere.enqueue(order, Cart(count: id), id: "\(id)", options: options)) }
      #expect(try await !elsewhere.enqueue(order, Cart(), id: "0"))
      try await test.withWorkers(workers) { () async throws in
        for id in 0..<100 { #expect(try await elsewhere.result(of: "\(id)", as: order) == "place \(id)") }
      }
      #expect(["reserve", "charge", "ship"].map(journal.count) == [100, 100, 100])
      #expect(journal.all.count == 400)
      #expect(try await elsewhere.counts() == [.done: 100])
      #expect(try await entries(elsewhere) == 0)
    }

    @Test
    func `An order that fails is undone, and its waiters receive its error`() async throws {
      let order = order { throw Refused(card: "visa") }
      let fleet = test.fleet()
      fleet.register(order)
      try await fleet.enqueue(order, Cart(), id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        _ = await #expect(throws: Refused(card: "visa")) { try await fleet.result(of: "order-7", as: order) }
      }
      #expect(journal.all == ["reserve", "charge", "ship", "undo charge", "undo reserve place 1"])
      let status = try #require(try await fleet.status(of: "order-7"))
      #expect(status.state == .failed)
      #expect(status.error?.contains("visa") == true)
      #expect(status.isUndone)
      let kept = try await fleet.entries(of: "order-7")
      #expect(!kept.isEmpty && kept.allSatisfy { $0.savedAt != nil })
    }

    @Test
    func `A cancelled order is undone, or over at once if it has not begun`() async throws {
      let order = order { try await untilCancelled() }
      let fleet = test.fleet()
      fleet.register(order)
      try await fleet.enqueue(order, Cart(), id: "runs")
      try await fleet.enqueue(order, Cart(), id: "waits", options: FleetOptions(start: .after(.seconds(3_600))))
      #expect(try await fleet.cancel("waits"))
      #expect(try await fleet.status(of: "waits")?.state == .cancelled)
      try await test.withWorkers([fleet]) { () async throws in
        try await waitUntil("the order ships") { journal.count("ship") == 1 }
        #expect(try await fleet.cancel("runs", reason: "changed my mind"))
        await #expect(throws: FleetError.cancelled(id: "runs", reason: "changed my mind")) {
          try await fleet.result(of: "runs", as: order)
        }
      }
      #expect(journal.all == ["reserve", "charge", "ship", "undo charge", "undo reserve place 1"])
      #expect(try await fleet.status(of: "runs")?.isUndone == true)
    }

    @Test
    func `A draining worker stops orders between steps`() async throws {
      let (reached, release) = (Once<Void>(), Once<Void>())
      let order = order {
        reached.settle(())
        await release.valueIgnoringCancellation()
      }
      let fleet = test.fleet()
      fleet.register(order)
      try await fleet.enqueue(order, Cart(), id: "continues")
      try await fleet.enqueue(order, Cart(), id: "cancelled")
      let token = CancellationToken()
      async let drained: Void = fleet.work(until: token)
      try await waitUntil("both orders ship") { journal.count("ship") == 2 }
      token.cancel()
      release.settle(())
      try await drained
      // The steps in progress were stored.
      #expect(journal.all.count == 6)
      #expect(try await fleet.counts() == [.queued: 2])
      #expect(try await fleet.cancel("cancelled"))
      #expect(try await fleet.status(of: "cancelled")?.state == .queued)
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "continues", as: order) == "place 1")
        try await fleet.waitForState(.cancelled, of: "cancelled")
      }
      #expect(journal.count("thank") == 1)
      #expect(journal.all.count == 9)
      #expect(journal.all.dropFirst(6).filter { $0.hasPrefix("undo") } == ["undo charge", "undo reserve place 1"])
    }

    @Test
    func `A failing undo is retried, dead-lettered and, requeued, completed`() async throws {
      let isBroken = Lock(true)
      let order = Chain("order") { [journal] (cart: Cart) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
          if isBroken.withLock({ $0 }) { throw Refused(card: "no bank") }
        }
        try await step("charge") {
          journal.add("charge")
        } undo: {
          journal.add("undo charge")
        }
        try await step("ship") { throw Refused(card: "visa") }
        return cart.count
      }
      let fleet = test.fleet()
      fleet.register(order, retry: RetryPolicy(maxAttempts: 3, backoff: .none))
      try await fleet.enqueue(order, Cart(), id: "order-7", options: FleetOptions(keepsStages: false))
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.failed, of: "order-7")
        #expect(try await fleet.status(of: "order-7")?.error?.contains("no bank") == true)
        await #expect(throws: FleetError.self) { try await fleet.result(of: "order-7", as: order) }
        #expect(journal.all.filter { $0 != "undo reserve" } == ["reserve", "charge", "undo charge"])
        #expect(journal.count("undo reserve") >= 3)
        let count = journal.count("undo reserve")
        isBroken.withLock { $0 = false }
        #expect(try await fleet.requeue("order-7"))
        try await waitUntil("the order has its outcome") { try await entries(fleet) == 0 }
        await #expect(throws: Refused(card: "visa")) { try await fleet.result(of: "order-7", as: order) }
        #expect(journal.count("undo reserve") == count + 1)
      }
      #expect(journal.count("undo charge") == 1)
    }

    @Test
    func `A worker that has lost an order appends nothing, and undoes nothing`() async throws {
      let (reached, release) = (Once<Void>(), Once<Void>())
      let order = order {
        guard reached.settled == nil else { return }
        reached.settle(())
        await release.valueIgnoringCancellation()
      }
      let (first, second) = (test.fleet(), test.fleet())
      for fleet in [first, second] { fleet.register(order) }
      try await first.enqueue(order, Cart(), id: "order-7", options: FleetOptions(keepsStages: false))
      try await test.withWorkers([first]) { () async throws in
        _ = try await reached.value(of: "the first worker ships")
        // As if its lease had ended: another worker claims the order.
        try await first.database.run("UPDATE @.jobs SET state = 'queued', worker = NULL")
        try await test.withWorkers([second]) { () async throws in
          #expect(try await second.result(of: "order-7", as: order) == "place 1")
        }
        release.settle(())
      }
      #expect(journal.all == ["reserve", "charge", "ship", "ship", "thank"])
      #expect(try await entries(first) == 0)
      #expect(try await first.counts() == [.done: 1])
    }

    @Test
    func `A step writes its entry, and leaves the job's row as it is`() async throws {
      // Neither a renewal of the lease nor one of a watch for the result moves the row.
      let fleet = test.fleet(lease: .seconds(3_600))
      let places = Once<[String]>()
      let text = String(repeating: "x", count: 1_000)
      // Where the row of the job is: an update moves it.
      let place: @Sendable () async throws -> String = {
        try await fleet.database.run("SELECT ctid::text || xmin::text FROM @.jobs").first?.text(0) ?? ""
      }
      let long = Chain("long") { (count: Int) in
        let first = try await step("first") { try await place() }
        for _ in 0..<count { try await step("value") { text } }
        let last = try await step("last") { try await place() }
        places.settle([first, last])
        return count
      }
      fleet.register(long)
      try await fleet.enqueue(long, 500, id: "long")
      try await test.withWorkers([fleet]) { () async throws in
        let places = try await places.value(of: "the last step")
        #expect(places[0] == places[1])
      }
    }

    @Test
    func `A run that resumes elsewhere repeats no step of a failed attempt`() async throws {
      let (reached, release) = (Once<Void>(), Once<Void>())
      let (first, second) = (test.fleet(), test.fleet())
      let checks = Journal()
      let long = Chain("long") { (count: Int) in
        let sum = try await steps("outer", retry: RetryPolicy(maxAttempts: 4, backoff: .none)) {
          var sum = 0
          for number in 0..<count {
            sum += try await step("inner") {
              checks.add("inner")
              return number
            }
          }
          try await step("check") {
            checks.add("check")
            if checks.all.count(where: { $0 == "check" }) < 4 { throw Refused(card: "visa") }
          }
          return sum
        }
        try await step("hold") {
          reached.settle(())
          await release.valueIgnoringCancellation()
        }
        return sum
      }
      for fleet in [first, second] { fleet.register(long) }
      try await first.enqueue(long, 50, id: "long")
      let token = CancellationToken()
      async let drained: Void = first.work(until: token)
      _ = try await reached.value(of: "the run is held")
      token.cancel()
      release.settle(())
      try await drained
      try await test.withWorkers([second]) { () async throws in
        #expect(try await second.result(of: "long", as: long) == 1_225)
      }
      #expect(checks.all.count { $0 == "inner" } == 200 && checks.all.count { $0 == "check" } == 4)
    }

    @Test
    func `A finished run is replaced, one whose undos are missing is not`() async throws {
      let isBroken = Lock(true)
      let order = Chain("order") { (cart: Cart) in
        try await step("reserve") {
        } undo: { _ in
          if isBroken.withLock({ $0 }) { throw Refused(card: "no bank") }
        }
        try await step("ship") { if cart.count == 2 { throw Refused(card: "visa") } }
        return cart.count
      }
      let fleet = test.fleet()
      fleet.register(order, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      let options = FleetOptions(replacing: .finished)
      try await test.withWorkers([fleet]) { () async throws in
        for count in [1, 3] {
          #expect(try await fleet.enqueue(order, Cart(count: count), id: "order-7", options: options))
          #expect(try await fleet.result(of: "order-7", as: order) == count)
        }
        #expect(try await fleet.enqueue(order, Cart(count: 2), id: "order-7", options: options))
        try await fleet.waitForState(.failed, of: "order-7")
        #expect(try await !fleet.enqueue(order, Cart(count: 4), id: "order-7", options: options))
        isBroken.withLock { $0 = false }
        #expect(try await fleet.requeue("order-7"))
        await #expect(throws: Refused(card: "visa")) { try await fleet.result(of: "order-7", as: order) }
        #expect(try await fleet.enqueue(order, Cart(count: 4), id: "order-7", options: options))
        #expect(try await fleet.result(of: "order-7", as: order) == 4)
      }
    }

    @Test
    func `A chain cannot wait as a stage does`() async throws {
      let chain = Chain("chain") { (id: String) in
        await #expect(throws: FleetError.needsStage(id: id)) { try await FleetJob.current?.waitForChildren([]) }
        await #expect(throws: FleetError.needsStage(id: id)) { try await FleetJob.current?.sleep(for: .seconds(1)) }
        return try await step("id") { FleetJob.current?.id ?? "" }
      }
      let fleet = test.fleet()
      fleet.register(chain)
      try await fleet.enqueue(chain, "a", id: "a")
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "a", as: chain) == "a")
      }
    }

    @Test
    func `Orders enqueued in your transaction exist when it commits`() async throws {
      let order = order()
      let fleet = test.fleet()
      fleet.register(order, version: 1)
      _ = try await fleet.counts()
      let connection = PostgresPool(server ?? "", size: 1)
      _ = try await connection.run("BEGIN", [], within: .seconds(30))
      try await fleet.enqueue(order, [(id: "a", input: Cart()), (id: "b", input: Cart(count: 2))]) { statement in
        let parameters = statement.parameters.map { PostgresValue.text($0) }
        _ = try await connection.run(statement.sql, parameters, within: .seconds(30))
      }
      #expect(try await fleet.counts().isEmpty)
      _ = try await connection.run("COMMIT", [], within: .seconds(30))
      try await fleet.enqueue(order, Cart(), id: "newer", version: 2)
      try await test.withWorkers([fleet]) { () async throws in
        #expect(try await fleet.result(of: "b", as: order) == "place 2")
        #expect(try await fleet.result(of: "a", as: order) == "place 1")
      }
      #expect(try await fleet.status(of: "newer")?.state == .queued)
      await #expect(throws: FleetError.notFound(id: "a")) { try await fleet.fork("a", fromStage: 1, as: "c") }
      #expect(try await entries(fleet) ?? 0 > 0)
      #expect(try await fleet.prune(olderThan: .zero) == 2)
      #expect(try await entries(fleet) == 0)
    }
  }
#endif
