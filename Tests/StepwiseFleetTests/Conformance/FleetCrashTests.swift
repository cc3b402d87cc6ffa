// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseFleet
  import StepwiseFleetTesting
  import StepwiseTesting
  import Testing

  @Suite(.timeLimit(.minutes(5)))
  struct FleetCrashTests {
    struct Approval: Codable, Sendable {
      var by: String
    }

    struct Refused: Error, Codable, Equatable {}

    /// An order with a sleep, a signal and children.
    private static func order(_ ledger: EffectLedger, hasKey: Bool = true, fails: Bool = false) -> Chain<Int, [String]>
    {
      Chain("order") { (count: Int) in
        try await step("reserve") {
          ledger.record("reserve", key: CurrentStep.idempotencyKey)
        } undo: {
          ledger.record("undo reserve", key: CurrentStep.idempotencyKey)
        }
        try await step("cool down", sleep: .seconds(3_600))
        let approval = try await step("approval", waitFor: Approval.self, timeout: .seconds(86_400))
        let parcels = try await step(
          "parcels",
          children: (0..<count).map { FleetChild(parcel(ledger), $0, id: "\($0)") }
        )
        try await step("charge") {
          ledger.record("charge", key: hasKey ? CurrentStep.idempotencyKey : nil)
          if fails { throw Refused() }
        }
        return [approval.by] + parcels.map { (try? $0.get()) ?? "refused" }
      }
    }

    private static func parcel(_ ledger: EffectLedger) -> Chain<Int, String> {
      Chain("parcel") { (number: Int) in
        try await step("pack") {
          ledger.record("pack \(number)", key: CurrentStep.idempotencyKey)
        } undo: {
          ledger.record("unpack \(number)", key: CurrentStep.idempotencyKey)
        }
        if number == 1 { throw Refused() }
        return "parcel \(number)"
      }
    }

    private func crash(_ ledger: EffectLedger, hasKey: Bool = true, fails: Bool = false) async throws -> Int {
      let order = Self.order(ledger, hasKey: hasKey, fails: fails)
      return try await crashEverywhere(effects: ledger) { worker in
        worker.register(order)
        worker.register(Self.parcel(ledger))
      } _: { fleet in
        try await fleet.enqueue(order, 2, id: "order-7")
        try await fleet.send(Approval(by: "Ann"), to: "order-7", signal: "approval", id: "1")
        return try await fleet.result(of: "order-7", as: order)
      }
    }

    @Test
    func `An order whose worker dies at each write ends as undisturbed`() async throws {
      let crashes = try await crash(EffectLedger())
      #expect(crashes > 30)
    }

    @Test
    func `An order that fails is undone after a death at each write`() async throws {
      await #expect(throws: Refused.self) { _ = try await crash(EffectLedger(), fails: true) }
    }

    @Test
    func `An effect without a key is found`() async throws {
      let difference = await #expect(throws: CrashDifference.self) {
        _ = try await crash(EffectLedger(), hasKey: false)
      }
      #expect(difference?.effect == "charge" && difference?.found == "2")
    }
  }
#endif
