// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// Signals that are not of the type that a step waits for.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct SignalTypeTests {
    /// A stage that waits.
    struct Wait: Progression, Codable, Equatable {
      var amount: Int?

      func next() async throws -> Wait {
        Wait(amount: try await FleetJob.current?.waitForSignal("amount", as: Int.self))
      }

      var result: Int? { amount }
    }

    let test = TestFleet()
    let journal = Journal()

    private func fleet(maxParked: Int = 1_000) -> Fleet {
      var configuration = test.fleet().configuration
      configuration.maxParked = maxParked
      let fleet = Fleet(server ?? "", configuration: configuration)
      fleet.register(order)
      fleet.register(Wait.self)
      return fleet
    }

    private var order: Chain<Int, String> {
      Chain("order") { [journal] (n: Int) in
        try await step("reserve") {
          journal.add("reserve")
        } undo: {
          journal.add("undo reserve")
        }
        let amount = try await step("amount", waitFor: Int.self)
        let note = try await step("note", waitFor: String.self, signal: "amount")
        return "\(amount) \(note)"
      }
    }

    @Test(arguments: [0, 1_000])
    func `A signal of another type is skipped and kept, and the job waits on`(maxParked: Int) async throws {
      let (fleet, sender) = (fleet(maxParked: maxParked), test.fleet())
      try await sender.enqueue(order, 1, id: "order-7")
      try await sender.enqueue(Wait(), id: "stage")
      for id in ["order-7", "stage"] {
        for text in ["ten", "eleven"] { try await sender.send(text, to: id, signal: "amount") }
      }
      let refused = Journal()
      try await test.withWorkers([fleet]) { event in
        if case .signalRefused(let id, "amount", _) = event { refused.add(id) }
      } _: { () async throws in
        for id in ["order-7", "stage"] {
          try await waitUntil("both are refused") {
            try await sender.refusedSignals(of: id).map(\.json) == [#""ten""#, #""eleven""#]
          }
          try await fleet.waitForState(maxParked == 0 ? .scheduled : .running, of: id)
          #expect(try await sender.refusedSignals(of: id).allSatisfy { !$0.reason.isEmpty && $0.name == "amount" })
          // As another process does, which does not know the type.
          try await sender.send(10, to: id, signal: "amount")
        }
        #expect(try await fleet.result(of: "stage", as: Wait.self) == 10)
        // The second step waits for a signal of the same name, and reads what the first one has skipped.
        #expect(try await fleet.result(of: "order-7", as: order) == "10 ten")
      }
      #expect(try await sender.refusedSignals(of: "order-7").map(\.json) == [#""eleven""#])
      #expect(refused.count("stage") >= 2)
      #expect(journal.all == ["reserve"])
    }

    @Test
    func `A signal of another type is refused where the job waits`() async throws {
      let fleet = fleet()
      try await fleet.enqueue(order, 1, id: "order-7")
      try await fleet.enqueue(Wait(), id: "stage")
      try await test.withWorkers([fleet]) { () async throws in
        for id in ["order-7", "stage"] {
          try await waitUntil("\(id) waits") { isRefused(#""ten""#, for: id, in: fleet) }
          await #expect(throws: FleetError.foreignSignal(id: id, signal: "amount", expected: "Int")) {
            try await fleet.send("ten", to: id, signal: "amount")
          }
          try await fleet.send(10, to: id, signal: "amount")
        }
        #expect(try await fleet.result(of: "stage", as: Wait.self) == 10)
        try await waitUntil("the second step waits") { isRefused("7", for: "order-7", in: fleet) }
        try await fleet.send("ten", to: "order-7", signal: "amount")
        #expect(try await fleet.result(of: "order-7", as: order) == "10 ten")
      }
      #expect(!isRefused("7", for: "order-7", in: fleet))
    }

    private func isRefused(_ json: String, for id: String, in fleet: Fleet) -> Bool {
      (try? fleet.hub.expectations.check(Array(json.utf8), for: "amount", of: id)) == nil
    }
  }
#endif
