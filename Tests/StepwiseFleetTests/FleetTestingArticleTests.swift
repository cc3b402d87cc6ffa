// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseFleet
  import StepwiseFleetTesting
  import StepwiseTesting
  import Testing

  /// The samples about tests of fleets.
  @Suite(.timeLimit(.minutes(5)))
  struct FleetTestingArticleTests {
    @Test
    func `An order waits a day for its approval, and no test does`() async throws {
      let clock = ManualClock()
      let fleet = Fleet(MemoryFleetStore(clock: clock))
      fleet.register(approved)
      let name = try await clock.run {
        try await fleet.withWorker {
          try await fleet.enqueue(approved, Cart(books: 2), id: "order-7")
          try await clock.sleep(for: .seconds(86_400))
          try await fleet.send(Approval(by: "Ann"), to: "order-7", signal: "approval")
          return try await fleet.result(of: "order-7", as: approved)
        }
      }
      #expect(name == "Ann")
    }

    @Test
    func `An order ends the same after a crash at each write`() async throws {
      let ledger = EffectLedger()
      let order = paidOrder(ledger)
      try await crashEverywhere(effects: ledger) { worker in
        worker.register(order)
      } _: { fleet in
        try await fleet.enqueue(order, Cart(books: 2), id: "order-7")
        return try await fleet.result(of: "order-7", as: order)
      }
    }

    @Test
    func `A worker runs beside a test`() async throws {
      let (order, cart) = (paidOrder(EffectLedger()), Cart(books: 2))
      let clock = ManualClock()
      let fleet = Fleet(MemoryFleetStore(clock: clock))
      fleet.register(order)
      let receipt = try await clock.run {
        try await fleet.withWorker {
          try await fleet.enqueue(order, cart, id: "order-7")
          return try await fleet.result(of: "order-7", as: order)
        }
      }
      #expect(receipt == "2 books")
    }
  }

  private struct Cart: Codable, Sendable {
    var books: Int
  }

  private struct Approval: Codable, Sendable {
    var by: String
  }

  private let approved = Chain("approved order") { (cart: Cart) in
    let approval = try await step("approval", waitFor: Approval.self, timeout: .seconds(3 * 86_400))
    return approval.by
  }

  private func paidOrder(_ ledger: EffectLedger) -> Chain<Cart, String> {
    Chain("order") { (cart: Cart) in
      try await step("charge") { ledger.record("charge", key: CurrentStep.idempotencyKey) }
      return "\(cart.books) books"
    }
  }
#endif
