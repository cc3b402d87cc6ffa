// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetContinueTests {
    struct Refused: Error, Codable, Equatable {
      var card: String
    }

    let test = TestFleet()
    let journal = Journal()
    let isBroken = Flag()

    /// Reserves, tries an offer that always fails, charges and ships.
    private func order(undoes: Bool = true) -> Chain<Int, String> {
      Chain("order") { [journal, isBroken] (count: Int) in
        let place =
          if undoes {
            try await step("reserve") {
              journal.add("reserve")
              return "place \(count)"
            } undo: {
              journal.add("undo reserve \($0)")
            }
          } else {
            try await step("reserve") {
              journal.add("reserve")
              return "place \(count)"
            }
          }
        _ = try? await step("offer") { () -> Int in
          journal.add("offer")
          throw Refused(card: "offer")
        }
        try await steps("payment") {
          try await step("check") { journal.add("check") }
          try await step("charge", timeout: .seconds(60)) {
            journal.add("charge \(CurrentStep.idempotencyKey ?? "")")
            if isBroken.isSet { throw Refused(card: "visa") }
          }
        }
        try await step("ship") { journal.add("ship") }
        return place
      }
    }

    private var charges: [String] { journal.all.filter { $0.hasPrefix("charge") } }

    // G223
    @Test
    func `A failed order that is held continues from its failed step`() async throws {
      let order = order()
      let fleet = test.fleet()
      fleet.register(order, onFailure: .hold)
      try await fleet.enqueue(order, 1, id: "order-7", options: FleetOptions(keepsStages: false))
      let ends = Journal()
      try await test.withWorkers([fleet]) { event in
        if case .ended(_, _, let state, _, let error) = event { ends.add("\(state) \(error is Refused)") }
      } _: { () async throws in
        for round in 0..<2 {
          try await fleet.waitForState(.failed, of: "order-7")
          let status = try #require(try await fleet.status(of: "order-7"))
          #expect(status.error?.contains("visa") == true && status.isRequeueable && status.endedAt != nil)
          await #expect(throws: FleetError.self) { try await fleet.result(of: "order-7", as: order) }
          #expect(try await fleet.continue("order-7"))
          try await waitUntil("the order has failed again") { ends.all.count == round + 2 }
        }
        isBroken.set(false)
        // A requeue does the same.
        try await fleet.waitForState(.failed, of: "order-7")
        #expect(try await fleet.requeue("order-7"))
        #expect(try await fleet.result(of: "order-7", as: order) == "place 1")
        #expect(try await !fleet.continue("order-7"))
      }
      #expect(charges.count > 2 && Set(charges).count == 1)
      #expect(journal.all.filter { !$0.hasPrefix("charge") } == ["reserve", "offer", "check", "ship"])
      #expect(ends.all == Array(repeating: "failed true", count: charges.count - 1) + ["done false"])
    }

    @Test
    func `A held order that is cancelled is undone`() async throws {
      let order = order()
      let fleet = test.fleet()
      fleet.register(order, onFailure: .hold)
      try await fleet.enqueue(order, 1, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.failed, of: "order-7")
        #expect(!journal.all.contains("undo reserve place 1"))
        #expect(try await fleet.cancel("order-7", reason: "no card"))
        try await fleet.waitForState(.cancelled, of: "order-7")
        #expect(journal.all.last == "undo reserve place 1" && charges.count == 1)
        #expect(try await !fleet.cancel("order-7"))
      }
      await #expect(throws: FleetError.notContinuable(id: "order-7", reason: "it was cancelled")) {
        try await fleet.continue("order-7")
      }
    }

    @Test
    func `An order that is cancelled while it fails is undone, and not held`() async throws {
      let (reached, release) = (Once<Void>(), Once<Void>())
      let order = Chain("order") { [journal] (count: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        try await step("charge") {
          reached.settle(())
          await release.valueIgnoringCancellation()
          throw Refused(card: "visa")
        }
        return count
      }
      // It hears of the cancellation only when it stores the end.
      let fleet = test.fleet(listens: false, poll: .seconds(60))
      fleet.register(order, onFailure: .hold)
      let other = test.fleet()
      try await other.enqueue(order, 1, id: "order-7")
      try await test.withWorkers([fleet]) { () async throws in
        _ = try await reached.value(of: "the order charges")
        #expect(try await other.cancel("order-7"))
        release.settle(())
        try await waitUntil("the attempt has ended") { try await other.status(of: "order-7")?.state != .running }
        other.register(order)
        try await test.withWorkers([other]) { () async throws in try await other.waitForState(.cancelled, of: "order-7")
        }
      }
      #expect(journal.all == ["reserve", "undo reserve"])
    }

    @Test
    func `A failed order without undos continues, and one that was undone says why it does not`() async throws {
      let plain = order(undoes: false)
      let fleet = test.fleet()
      fleet.register(plain)
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      try await fleet.enqueue(plain, 1, id: "plain")
      try await fleet.enqueue(plain, 1, id: "removed", options: FleetOptions(keepsStages: false))
      try await fleet.enqueue(Work.script(last: 2) { _, _, _ in throw Refused(card: "stage") }, id: "work")
      try await test.withWorkers([fleet]) { () async throws in
        for id in ["plain", "removed", "work"] { try await fleet.waitForState(.failed, of: id) }
        isBroken.set(false)
        #expect(try await fleet.continue("plain"))
        #expect(try await fleet.result(of: "plain", as: plain) == "place 1")
      }
      #expect(journal.count("reserve") == 2 && journal.count("ship") == 1 && charges.count == 3)
      isBroken.set(true)
      let undone = order()
      fleet.register(undone)
      try await fleet.enqueue(undone, 1, id: "undone")
      try await test.withWorkers([fleet]) { () async throws in try await fleet.waitForState(.failed, of: "undone") }
      let reasons = ["removed": "does not keep", "undone": "are undone", "work": "not a chain"]
      for (id, reason) in reasons {
        let error = await #expect(throws: FleetError.self) { try await fleet.continue(id) }
        #expect(error?.description.contains(reason) == true, "\(id): \(error?.description ?? "")")
      }
      await #expect(throws: FleetError.notFound(id: "none")) { try await fleet.continue("none") }
    }

    // G224
    @Test
    func `The value of a completed step is readable while the order runs and when it has ended`() async throws {
      let (reached, release) = (Once<Void>(), Once<Void>())
      let order = Chain("order") { (count: Int) in
        let place = try await step("reserve") {
          "place \(count)"
        } undo: { _ in
        }
        try await steps("outer") {
          let inner = try await step("in/ner") { 7 }
          try await FleetJob.current?.setNote("ships \(inner) of 9\0")
          reached.settle(())
          await release.valueIgnoringCancellation()
        }
        if count == 2 { throw Refused(card: "visa") }
        return place
      }
      let fleet = test.fleet()
      fleet.register(order)
      let elsewhere = test.fleet()
      try await fleet.enqueue(order, 1, id: "order-7")
      #expect(try await elsewhere.value(of: "order-7", step: "reserve", as: String.self) == nil)
      try await test.withWorkers([fleet]) { () async throws in
        _ = try await reached.value(of: "the order ships")
        #expect(try await elsewhere.value(of: "order-7", step: "reserve", as: String.self) == "place 1")
        #expect(try await elsewhere.value(of: "order-7", step: "outer/in%2fner", as: Int.self) == 7)
        #expect(try await elsewhere.value(of: "order-7", step: "ship", as: Int.self) == nil)
        await #expect(throws: FleetError.self) {
          try await elsewhere.value(of: "order-7", step: "reserve", as: Int.self)
        }
        #expect(try await elsewhere.status(of: "order-7")?.note == "ships 7 of 9")
        release.settle(())
        _ = try await fleet.result(of: "order-7", as: order)
        #expect(try await elsewhere.value(of: "order-7", step: "reserve", as: String.self) == "place 1")
        try await fleet.enqueue(order, 2, id: "undone")
        try await fleet.waitForState(.failed, of: "undone")
        #expect(try await elsewhere.value(of: "undone", step: "reserve", as: String.self) == nil)
      }
      try await fleet.enqueue(Work.script(), id: "work")
      await #expect(throws: FleetError.foreignType(id: "work", stored: StageCoder<Work>().name, expected: "chain")) {
        try await fleet.value(of: "work", step: "reserve", as: Int.self)
      }
      await #expect(throws: FleetError.notFound(id: "none")) {
        try await fleet.value(of: "none", step: "reserve", as: Int.self)
      }
    }

    // G225
    @Test
    func `A note is replaced, removed, and gone with its job`() async throws {
      let notes = Lock<[String?]>([])
      let (first, second) = (test.fleet(), test.fleet())
      let work = Work.script(last: 2) { id, _, _ in
        for note in ["one", nil, String(repeating: "x", count: 3_000)] {
          try await FleetJob.current?.setNote(note)
          let stored = try await second.status(of: id)?.note
          notes.withLock { $0.append(stored) }
        }
      }
      first.register(Work.self)
      try await first.enqueue(work, id: "work")
      try await test.withWorkers([first]) { () async throws in _ = try await first.result(of: "work", as: Work.self) }
      #expect(notes.withLock { $0 } == ["one", nil, String(repeating: "x", count: 2_000) + "…"])
      try await first.enqueue(work, id: "work", options: FleetOptions(replacing: .finished))
      #expect(try await first.status(of: "work")?.note == nil)
    }
  }

  final class Flag: Sendable {
    private let value = Lock(true)

    var isSet: Bool { value.withLock { $0 } }

    func set(_ value: Bool) { self.value.withLock { $0 = value } }
  }
#endif
