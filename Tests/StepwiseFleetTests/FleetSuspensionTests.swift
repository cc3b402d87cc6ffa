// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// Jobs that are stopped because they only wait.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetSuspensionTests {
    let test = TestFleet()
    let journal = Journal()

    /// A fleet that stops each job that waits.
    private func fleet(maxParked: Int = 0) -> Fleet {
      var configuration = test.fleet().configuration
      configuration.maxParked = maxParked
      return Fleet(server ?? "", configuration: configuration)
    }

    private struct Notes: RunObserver {
      let journal: Journal

      func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
        if let error { journal.add("\(step) \(type(of: error))") }
      }

      func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) { journal.add("\(outcome)") }
    }

    // G290
    @Test(arguments: [false, true])
    func `A suspended run is reported as suspended, and what its code makes of that is not stored`(
      stops: Bool
    ) async throws {
      let seen = Journal()
      let order = Chain("order") { [journal] (_: Int) in
        do {
          return try await step("approval", waitFor: String.self)
        } catch {
          journal.add("caught")
          if !stops { try await step("refuse") { journal.add("refuse") } }
          return "refused"
        }
      }.observed(by: Notes(journal: seen))
      let fleet = fleet()
      fleet.register(order)
      try await fleet.enqueue(order, 1, id: "order")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.scheduled, of: "order")
        let interrupted = stops ? ["approval", "order"] : ["approval", "refuse", "order"]
        #expect(seen.all.dropLast() == interrupted.map { "\($0) CancellationError" })
        #expect(seen.all.last?.hasPrefix("cancelled: suspended until a wait is over (") == true)
        #expect(try await fleet.status(of: "order")?.error == nil)
        try await fleet.send("Ann", to: "order", signal: "approval")
        #expect(try await fleet.result(of: "order", as: order) == "Ann")
      }
      #expect(journal.all == ["caught"])
      #expect(seen.all.last == "succeeded with String")
    }

    // G290
    @Test(arguments: [false, true])
    func `A stage that catches the error of its wait runs again, and what it makes of that is not stored`(
      throwsAnother: Bool
    ) async throws {
      let fleet = fleet()
      let work = Work.script(last: 2) { [journal] _, _, _ in
        do {
          let name = try await FleetJob.current?.waitForSignal("approval", as: String.self)
          journal.add(name ?? "")
        } catch {
          journal.add("caught")
          if throwsAnother { throw Failure(text: "no answer") }
        }
      }
      fleet.register(Work.self)
      try await fleet.enqueue(work, id: "work")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.scheduled, of: "work")
        let status = try await fleet.status(of: "work")
        #expect(status?.error == nil)
        #expect(status?.attempt == 0)
        try await fleet.send("Ann", to: "work", signal: "approval")
        #expect(try await fleet.result(of: "work", as: Work.self) == 2)
      }
      #expect(journal.all == ["caught", "Ann"])
    }

    /// An order whose wait is in the body of a step with a time limit.
    private func limited(_ form: String, _ name: String, _ limit: Duration) -> Chain<Int, String> {
      let whole = Step("whole") { (_: Int) in try await step("approval", waitFor: String.self) }.timeout(limit)
      let order = Chain(name, undo: { [journal] (_: Int) in journal.add("undo") }) { (input: Int) in input }
      guard form != "Step" else { return order.appending(Chain(whole)) }
      let once = RetryPolicy(maxAttempts: form == "attempts" ? 2 : 1, backoff: .none)
      return order.then("decide") { (_: Int) in
        let count = Lock(0)
        return try await step("decision", retry: once, timeout: limit) {
          // The limit of an attempt is not that of another one.
          let isFirst = count.withLock { count in
            count += 1
            return count == 1
          }
          if form == "attempts", isFirst { throw Failure(text: "busy") }
          return try await step("approval", waitFor: String.self)
        }
      }
    }

    // G290
    @Test(arguments: [1_000, 0])
    func `What the body of a step makes of a suspension is not stored`(maxParked: Int) async throws {
      let order = Chain("order") { (_: Int) in
        let first = try await step("outer") {
          (try? await step("approval", waitFor: String.self)) ?? "caught"
        }
        try await step("nap", sleep: .milliseconds(1_200))
        return first + (try await step("approval", waitFor: String.self))
      }
      let fleet = fleet(maxParked: maxParked)
      fleet.register(order)
      try await fleet.enqueue(order, 1, id: "order")
      try await test.withWorkers([fleet]) { () async throws in
        if maxParked == 0 { try await fleet.waitForState(.scheduled, of: "order") }
        for name in ["Ann", "Bob"] { try await fleet.send(name, to: "order", signal: "approval") }
        #expect(try await fleet.result(of: "order", as: order) == "AnnBob")
      }
    }

    // G290
    @Test func `A signal that arrives while workers drain is neither lost nor received twice`() async throws {
      let order = Chain("order") { (_: Int) in
        async let other = step("other", waitFor: String.self)
        let first = try await step("go", waitFor: String.self)
        return first + (try await other)
      }
      let ids = (0..<60).map { "order-\($0)" }
      let fleet = fleet(maxParked: 1_000)
      fleet.register(order)
      try await fleet.enqueue(order, ids.map { (id: $0, input: 1) })
      for round in 0..<6 {
        try await test.withWorkers([fleet]) { () async throws in
          for id in ids[(round * 10)..<(round * 10 + 10)] { try await fleet.send("go", to: id, signal: "go") }
        }
      }
      try await test.withWorkers([fleet]) { () async throws in
        for id in ids { try await fleet.send("ing", to: id, signal: "other") }
        for id in ids { #expect(try await fleet.result(of: id, as: order) == "going") }
      }
    }

    // G291
    @Test(arguments: ["step", "attempts", "Step"])
    func `A time limit around a wait goes on while the run is stored`(form: String) async throws {
      let fleet = fleet()
      let late = limited(form, "late", .milliseconds(1_500))
      let early = limited(form, "early", .seconds(600))
      for order in [late, early] { fleet.register(order) }
      try await fleet.enqueue(late, 1, id: "late")
      try await fleet.enqueue(early, 1, id: "early")
      try await test.withWorkers([fleet]) { () async throws in
        try await fleet.waitForState(.scheduled, of: "early")
        try await fleet.send("Ann", to: "early", signal: "approval")
        #expect(try await fleet.result(of: "early", as: early) == "Ann")
        await #expect(throws: TimeoutError.self) { try await fleet.result(of: "late", as: late) }
      }
      #expect(journal.all == ["undo"])
    }
  }
#endif
