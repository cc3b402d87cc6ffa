// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// What each store of a fleet does: sleeps, signals and children.
  @Suite(.timeLimit(.minutes(5)))
  struct FleetWaitConformanceTests {
    struct Approval: Codable, Sendable, Equatable {
      var by: String
    }

    struct Rejection: Codable, Sendable, Equatable {
      var reason: String
    }

    struct Refused: Error, Codable, Equatable {
      var parcel: Int
    }

    static let kinds = TestStore.all.flatMap { kind in [(kind, 1_000), (kind, 0)] }

    private static func order(_ test: StoreContext, timeout: Duration? = nil) -> Chain<Int, String> {
      Chain("order") { (_: Int) in
        try await step("reserve") {
          test.journal.add("reserve")
        } undo: {
          test.journal.add("undo reserve")
        }
        let approval = try await step("approval", waitFor: Approval.self, timeout: timeout)
        try await step("ship") { test.journal.add("ship") }
        return approval.by
      }
    }

    // G285
    @Test(arguments: kinds)
    func `A sleep takes no slot and lasts its time`(kind: TestStore, maxParked: Int) async throws {
      let test = kind.context
      try await test.run {
        let sleeper = Chain("sleeper") { (value: Int) in
          try await step("before") { test.journal.add("before") }
          let start = try await step("start") { test.now }
          try await step("cool down", sleep: .milliseconds(400))
          return test.now.timeIntervalSince(start)
        }
        let fleet = test.fleet { ($0.slots, $0.maxParked) = (1, maxParked) }
        fleet.register(sleeper)
        fleet.register(Work.self)
        for id in ["a", "b"] { try await fleet.enqueue(sleeper, 1, id: id) }
        try await test.withWorkers(fleet) { () async throws in
          try await test.until("both have begun") { test.journal.count("before") == 2 }
          try await fleet.enqueue(Work.script(last: 2), id: "work")
          #expect(try await fleet.result(of: "work", as: Work.self) == 2)
          for id in ["a", "b"] {
            let time = try await fleet.result(of: id, as: sleeper)
            #expect(time >= 0.39)
            if test.isInMemory { #expect(time < 0.41) }
          }
        }
        #expect(test.journal.count("before") == 2)
      }
    }

    @Test(arguments: kinds)
    func `A signal ends a wait, also when it was sent before`(kind: TestStore, maxParked: Int) async throws {
      let test = kind.context
      try await test.run {
        let order = Self.order(test)
        let fleet = test.fleet { ($0.slots, $0.maxParked) = (1, maxParked) }
        fleet.register(order)
        try await fleet.enqueue(order, 1, id: "early")
        #expect(try await fleet.send(Approval(by: "Ann"), to: "early", signal: "approval", id: "1"))
        #expect(try await !fleet.send(Approval(by: "Bob"), to: "early", signal: "approval", id: "1"))
        try await fleet.enqueue(order, 1, id: "late")
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "early", as: order) == "Ann")
          try await test.until("the wait is known") { try await fleet.status(of: "late")?.wait?.reason == .signal }
          #expect(try await fleet.status(of: "late")?.wait?.details == ["approval"])
          try await fleet.send(Approval(by: "Eve"), to: "late", signal: "approval")
          #expect(try await fleet.result(of: "late", as: order) == "Eve")
          await #expect(throws: FleetError.ended(id: "late", state: .done)) {
            try await fleet.send(Approval(by: "Eve"), to: "late", signal: "approval")
          }
          await #expect(throws: FleetError.notFound(id: "none")) {
            try await fleet.send(Approval(by: "Eve"), to: "none", signal: "approval")
          }
        }
        #expect(test.journal.all == ["reserve", "ship", "reserve", "ship"])
      }
    }

    // G258
    @Test(arguments: TestStore.all)
    func `A job whose codec is missing is stopped with its data and continues with the codec`(
      kind: TestStore
    ) async throws {
      let test = kind.context
      try await test.run {
        let order = Self.order(test)
        let sealing = test.fleet { ($0.codec, $0.maxParked) = (Sealing.codec("seal-1"), 0) }
        let plain = test.fleet { $0.maxParked = 0 }
        for fleet in [sealing, plain] { fleet.register(order) }
        try await sealing.enqueue(order, 1, id: "a")
        try await test.withWorkers(sealing) { try await test.waitForState(.scheduled, of: "a", in: sealing) }
        let entries = try await sealing.store.entries(of: "a").map(\.entry)
        try await sealing.send(Approval(by: "Ann"), to: "a", signal: "approval")
        try await test.withWorkers(plain) { () async throws in
          try await test.until("it waits for the codec") { try await plain.status(of: "a")?.wait?.reason == .codec }
        }
        let status = try #require(await plain.status(of: "a"))
        #expect((status.state, status.attempt) == (.scheduled, 0))
        #expect(status.wait?.details == ["seal-1"])
        #expect(status.error == "\(FleetError.unknownCodec(id: "a", codec: "seal-1"))")
        #expect(try await sealing.store.entries(of: "a").map(\.entry) == entries)
        try await sealing.postgres?.run("UPDATE @.jobs SET run_at = clock_timestamp()")
        try await test.withWorkers(sealing) { () async throws in
          #expect(try await sealing.result(of: "a", as: order) == "Ann")
        }
        #expect(try await sealing.status(of: "a")?.error == nil)
        #expect(test.journal.all == ["reserve", "ship"])
      }
    }

    // G258
    @Test(arguments: TestStore.all)
    func `A job that is enqueued again does not wait for the codec of the one before`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let sealing = test.fleet { $0.codec = Sealing.codec("seal-1") }
        let plain = test.fleet()
        plain.register(Work.self)
        try await sealing.enqueue(Work.script(), id: "a")
        try await test.withWorkers(plain) { () async throws in
          try await test.until("it waits for the codec") { try await plain.status(of: "a")?.wait?.reason == .codec }
        }
        #expect(try await plain.cancel("a"))
        let later = FleetOptions(start: .after(.seconds(900)), replacing: .finished)
        #expect(try await plain.enqueue(Work.script(), id: "a", options: later))
        #expect(try await plain.status(of: "a")?.wait?.reason != .codec)
      }
    }

    // G290
    @Test(arguments: kinds)
    func `A signal that the body of a step receives is received once`(kind: TestStore, maxParked: Int) async throws {
      let test = kind.context
      try await test.run {
        let order = Chain("outer") { (_: Int) in
          let first = try await step("decide") { try await step("approval", waitFor: Approval.self).by }
          try await step("nap", sleep: .milliseconds(400))
          return first + (try await step("again", waitFor: Approval.self, signal: "approval")).by
        }
        let fleet = test.fleet { $0.maxParked = maxParked }
        fleet.register(order)
        try await fleet.enqueue(order, 1, id: "a")
        try await test.withWorkers(fleet) { () async throws in
          try await test.until("it waits") { try await fleet.status(of: "a")?.wait?.reason == .signal }
          for name in ["Ann", "Bob"] { try await fleet.send(Approval(by: name), to: "a", signal: "approval") }
          #expect(try await fleet.result(of: "a", as: order) == "AnnBob")
        }
      }
    }

    @Test(arguments: TestStore.all)
    func `A signal that comes before the wait for it is stored ends the wait`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet()
        fleet.register(Work.self)
        try await fleet.enqueue(Work.script(), id: "a")
        let worker = try await test.worker(fleet)
        let row = try #require(try await test.claim(1, as: worker, fleet).first)
        try await fleet.send(Approval(by: "Ann"), to: "a", signal: "approval")
        let wait = Ending(state: .scheduled, waitsFor: ["approval"], end: .infinity, isUncounted: true)
        #expect(try await fleet.store([EndedAttempt(claim: row.claim, ending: wait)], within: .seconds(30)) == [true])
        #expect(try await fleet.status(of: "a")?.state == .queued)
      }
    }

    @Test(arguments: kinds)
    func `A wait for a signal has a time limit, and the run is undone`(kind: TestStore, maxParked: Int) async throws {
      let test = kind.context
      try await test.run {
        let order = Self.order(test, timeout: .milliseconds(400))
        let fleet = test.fleet { $0.maxParked = maxParked }
        fleet.register(order)
        try await fleet.enqueue(order, 1, id: "a")
        try await test.withWorkers(fleet) { () async throws in
          await #expect(throws: (any Error).self) { try await fleet.result(of: "a", as: order) }
        }
        #expect(test.journal.all == ["reserve", "undo reserve"])
        #expect(try await fleet.status(of: "a")?.error?.contains("approval") == true)
      }
    }

    @Test(arguments: TestStore.all)
    func
      `The first of several signals is received, one of another type is kept, and one that is dropped is not delivered`(
        kind: TestStore
      ) async throws
    {
      let test = kind.context
      try await test.run {
        let order = Chain("answer") { (_: Int) in
          try await step(
            "answer",
            waitForAny: [
              .signal("approval") { (value: Approval) in "yes \(value.by)" },
              .signal("rejection") { (value: Rejection) in "no \(value.reason)" },
            ]
          )
        }
        let fleet = test.fleet()
        fleet.register(order)
        try await fleet.enqueue(order, 1, id: "a")
        try await fleet.send(Approval(by: "Ann"), to: "a", signal: "approval", id: "dropped")
        #expect(try await fleet.dropSignal("approval", of: "a") == 1)
        #expect(try await !fleet.send(Approval(by: "Ann"), to: "a", signal: "approval", id: "dropped"))
        try await fleet.send(7, to: "a", signal: "approval")
        try await fleet.send(Rejection(reason: "price"), to: "a", signal: "rejection")
        try await fleet.send(Approval(by: "Eve"), to: "a", signal: "approval")
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "a", as: order) == "no price")
        }
        #expect(try await fleet.refusedSignals(of: "a").map(\.json) == ["7"])
        await #expect(throws: FleetError.notFound(id: "b")) { try await fleet.dropSignal("approval", of: "b") }
      }
    }

    @Test(arguments: TestStore.all)
    func `A signal with a start is one change, and idempotent`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let order = Self.order(test)
        let fleet = test.fleet()
        fleet.register(order)
        for number in 0..<2 {
          let isNew = try await fleet.enqueue(
            order,
            1,
            id: "a",
            sending: Approval(by: "Ann"),
            signal: "approval",
            signalID: "button"
          )
          #expect(isNew == (number == 0))
        }
        let foreign = Chain("foreign") { (_: Int) in 1 }
        await #expect(throws: FleetError.foreignType(id: "a", stored: "chain order", expected: "chain foreign")) {
          try await fleet.enqueue(foreign, 1, id: "a", sending: 1, signal: "approval", signalID: "other")
        }
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "a", as: order) == "Ann")
        }
      }
    }

    @Test(arguments: kinds)
    func `A stage waits for signals and sleeps`(kind: TestStore, maxParked: Int) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet { ($0.slots, $0.maxParked) = (1, maxParked) }
        fleet.register(Work.self)
        let work = Work.script(last: 2) { _, _, _ in
          let job = try #require(FleetJob.current)
          try await job.sleep(for: .milliseconds(300))
          let approval = try await job.waitForSignal("approval", as: Approval.self, timeout: .seconds(300))
          test.journal.add(approval.by)
        }
        try await fleet.enqueue(work, id: "a")
        try await test.withWorkers(fleet) { () async throws in
          try await test.until("it waits") { try await fleet.status(of: "a")?.wait?.reason == .signal }
          try await fleet.send(Approval(by: "Ann"), to: "a", signal: "approval")
          #expect(try await fleet.result(of: "a", as: Work.self) == 2)
        }
        #expect(test.journal.all == ["Ann"])
      }
    }

    // G286
    @Test(arguments: TestStore.all)
    func `A chain waits for its children without a slot, and undoes them`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let parcel = Chain("parcel") { (number: Int) in
          try await step("pack") {
            test.journal.add("pack \(number)")
          } undo: {
            test.journal.add("unpack \(number)")
          }
          if number == 1 { throw Refused(parcel: 1) }
          return "receipt \(number)"
        }
        let order = Chain("order") { (isGood: Bool) in
          let receipts = try await step("parcels", children: (0..<2).map { FleetChild(parcel, $0, id: "\($0)") })
          try await step("ship") { if !isGood { throw Refused(parcel: 9) } }
          return receipts.map { receipt in (try? receipt.get()) ?? "refused" }
        }
        let fleet = test.fleet { $0.slots = 1 }
        fleet.register(order)
        fleet.register(parcel)
        try await fleet.enqueue(order, true, id: "good")
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "good", as: order) == ["receipt 0", "refused"])
          #expect(test.journal.all.sorted() == ["pack 0", "pack 1", "unpack 1"])
          #expect(try await fleet.status(of: "good/parcels/0")?.parent == "good")
          try await fleet.enqueue(order, false, id: "bad")
          await #expect(throws: Refused(parcel: 9)) { try await fleet.result(of: "bad", as: order) }
          #expect(test.journal.count("unpack 0") == 1)
          #expect(try await fleet.status(of: "bad/parcels/0")?.state == .cancelled)
        }
      }
    }

    @Test(arguments: TestStore.all)
    func `A stage waits for its children, which are kept as long as it is open`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet { $0.slots = 1 }
        fleet.register(Work.self)
        let child = Work.script(last: 2) { id, _, _ in test.journal.add(id) }
        let parent = Work.script(last: 3) { _, step, _ in
          let job = try #require(FleetJob.current)
          if step == 1 {
            try await job.enqueueChildren([(id: "x", progression: child), (id: "y", progression: child)])
          } else {
            let states = try await job.waitForChildren(["x", "y"])
            test.journal.add("\(states.map(\.state))")
          }
        }
        try await fleet.enqueue(parent, id: "a")
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await fleet.result(of: "a", as: Work.self) == 3)
        }
        #expect(test.journal.all.sorted() == ["[done, done]", "a/x", "a/y"])
        #expect(try await fleet.prune(olderThan: .zero) == 3)
      }
    }
  }
#endif
