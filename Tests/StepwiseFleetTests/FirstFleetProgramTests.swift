// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseFleet
  import StepwiseTesting
  import Testing

  /// A first program for a fleet, written from the articles of `StepwiseFleet`: an insurer settles claims.
  private struct Claim: Codable, Sendable, Equatable {
    var policy: Int
    var damage: Int
  }

  private struct Decision: Codable, Sendable {
    var adjuster: String
    var amount: Int
  }

  private struct BankIsDown: Error {}

  /// Stands in for the bank.
  private actor Bank {
    nonisolated let log = Recorder<String>()
    private var isDown = false

    func goDown() { isDown = true }
    func goUp() { isDown = false }
    func reserve(_ amount: Int) { log.record("reserve \(amount)") }
    func release(_ amount: Int) { log.record("release \(amount)") }

    func pay(_ amount: Int) throws -> String {
      if isDown { throw BankIsDown() }
      log.record("pay \(amount)")
      return "payment of \(amount)"
    }
  }

  private func settlement(_ bank: Bank) -> Chain<Claim, String> {
    Chain("settle a claim") { (claim: Claim) in
      try await step("reserve") {
        await bank.reserve(claim.damage)
      } undo: {
        await bank.release(claim.damage)
      }
      let decision = try await step("decision", waitFor: Decision.self, timeout: .seconds(14 * 86_400))
      return try await step("pay") { try await bank.pay(decision.amount) }
    }
  }

  /// Counts the claims of some days.
  ///
  /// A schedule enqueues it each night.
  private enum Report: Progression, Codable {
    case count(days: Int)
    case finished(String)

    func next() async throws -> Report {
      switch self {
      case .count(let days): .finished("report of \(days) days")
      case .finished: try completed()
      }
    }

    var result: String? { if case .finished(let text) = self { text } else { nil } }
  }

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FirstFleetProgramTests {
    private let test = TestFleet()
    private let events = Recorder<String>()

    /// Runs a worker beside `body`.
    private func withWorker(of fleet: Fleet, _ body: () async throws -> Void) async throws {
      let shutdown = CancellationToken()
      async let worker: Void = fleet.work(until: shutdown) { event in
        switch event {
        case .saved(let id, _, isLast: true): events.record("\(id) is done")
        case .ended(let id, _, let state, _, _): events.record("\(id) is \(state)")
        default: break
        }
      }
      try await body()
      shutdown.cancel()
      try await worker
    }

    @Test func `A first fleet program waits for a worker, then for a signal`() async throws {
      let bank = Bank()
      let order = settlement(bank)
      let fleet = test.fleet(slots: 4)
      try await fleet.enqueue(order, Claim(policy: 1, damage: 900), id: "claim-9")
      #expect(try await fleet.status(of: "claim-9")?.wait.map { "\($0)" } == "a worker that knows its type")

      fleet.register(order)
      try await withWorker(of: fleet) {
        try await fleet.enqueue(order, Claim(policy: 1, damage: 900), id: "claim-9")
        try await fleet.send(Decision(adjuster: "Ann", amount: 700), to: "claim-9", signal: "decision", id: "form-9")
        #expect(try await fleet.result(of: "claim-9", as: order) == "payment of 700")
      }
      #expect(bank.log.elements == ["reserve 900", "pay 700"])
      #expect(try await fleet.status(of: "claim-9")?.wait == nil)
    }

    @Test func `A first fleet program is held when it fails, and continued without a repeated step`() async throws {
      let bank = Bank()
      let order = settlement(bank)
      let fleet = test.fleet(slots: 4)
      fleet.register(order, onFailure: .hold)

      try await withWorker(of: fleet) {
        for (id, damage) in [("claim-6", 100), ("claim-7", 900), ("claim-8", 500)] {
          try await fleet.enqueue(order, Claim(policy: 1, damage: damage), id: id)
          let decision = Decision(adjuster: "Ann", amount: damage)
          try await fleet.send(decision, to: id, signal: "decision", id: "form of \(id)")
          if id == "claim-6" {
            #expect(try await fleet.result(of: id, as: order) == "payment of 100")
            await bank.goDown()
          }
        }
        let ends = Set(await events.elements(atLeast: 3))
        #expect(ends == ["claim-6 is done", "claim-7 is failed", "claim-8 is failed"])
        #expect(bank.log.elements.filter { $0.hasPrefix("release") }.isEmpty)
        #expect(try await fleet.value(of: "claim-7", step: "decision", as: Decision.self)?.adjuster == "Ann")

        // The operator counts what failed, continues one claim when the bank is up, and gives up the other.
        let failed = FleetFilter(states: [.failed], error: "BankIsDown")
        #expect(try await fleet.apply(.retry, to: failed, isDryRun: true).applicableCount == 2)
        #expect(try await fleet.attempts(of: "claim-7").map(\.outcome) == ["failed"])
        await #expect(throws: FleetError.self) { try await fleet.result(of: "claim-8", as: order) }
        await bank.goUp()
        try await fleet.continue("claim-7")
        #expect(try await fleet.result(of: "claim-7", as: order) == "payment of 900")
        try await fleet.cancel("claim-8", reason: "paid in cash")
        #expect(await events.elements(atLeast: 5).suffix(2) == ["claim-7 is done", "claim-8 is cancelled"])
      }
      #expect(bank.log.elements.filter { $0 == "reserve 900" }.count == 1)
      #expect(bank.log.elements.suffix(2) == ["pay 900", "release 500"])
    }

    @Test func `A first fleet program has a schedule, and runs a job of it on request`() async throws {
      let fleet = test.fleet(slots: 4)
      fleet.register(Report.self)
      try await fleet.schedule("nightly", cron: "0 2 * * *", timeZone: "Europe/Oslo", Report.count(days: 7))
      try await fleet.schedule("nightly", cron: "0 3 * * *", timeZone: "Europe/Oslo", Report.count(days: 1))
      #expect(try await fleet.schedules().map(\.cron) == ["0 3 * * *"])
      try await withWorker(of: fleet) {
        let id = try await fleet.runSchedule("nightly")
        #expect(try await fleet.result(of: id, as: Report.self) == "report of 1 days")
      }
      try await fleet.removeSchedule("nightly")
      #expect(try await fleet.schedules().isEmpty)
    }

    @Test func `A first fleet program configures its fleet`() {
      var configuration = FleetConfiguration()
      configuration.schema = "shop"
      configuration.slots = 16
      let fleet = Fleet("host=db.internal dbname=work", configuration: configuration)
      #expect(fleet.schemaSQL.contains("shop"))
    }
  }
#endif
