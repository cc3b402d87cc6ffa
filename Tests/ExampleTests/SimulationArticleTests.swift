// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

actor Account {
  private(set) var balance = 100

  func debit(_ amount: Int) { balance -= amount }
}

@Sendable func withdraw(_ amount: Int, from account: Account) async {
  guard await account.balance >= amount else { return }
  await approve(amount)
  await account.debit(amount)
}

/// Stands for a request.
private func approve(_ amount: Int) async { await Task.yield() }

@Sendable func booking(_ probe: RunProbe) -> Chain<Int, Int> {
  Chain("reserve", undo: { (_: Int) in probe.undone("reserve") }) { (order: Int) in
    try probe.step("reserve")
    try await probe.clock.sleep(for: .seconds(1))
    probe.completed("reserve")
    return order
  }
  .then("charge") { order in
    try probe.step("charge")
    return order
  }
  .timeout(.seconds(30), clock: probe.clock)
  .finally { _ in probe.finalized("close") }
}

@Suite(.timeLimit(.minutes(5)))
struct SimulationArticleTests {
  @Test func exploreFindsTheOverdraft() async throws {
    let failure = await #expect(throws: SimulationFailure.self) {
      try await explore(seeds: 0..<1_000) { _ in
        let account = Account()
        async let first: Void = withdraw(80, from: account)
        async let second: Void = withdraw(80, from: account)
        _ = await (first, second)
        try require(await account.balance >= 0, "overdrawn")
      }
    }
    #expect(failure?.description.contains("overdrawn") == true)
    #expect(failure?.schedule == "4:0")
  }

  @Test func aScheduleRepeatsIt() async throws {
    let transfer: @Sendable () async throws -> Void = {
      let account = Account()
      async let first: Void = withdraw(80, from: account)
      async let second: Void = withdraw(80, from: account)
      _ = await (first, second)
      try require(await account.balance >= 0, "overdrawn")
    }
    await #expect(throws: SimulationFailure.self) {
      try await simulate(schedule: "4:0") { _ in try await transfer() }
    }
    try await simulate(schedule: "") { _ in try await transfer() }
  }

  @Test func aBookingIsCancelledAndFailsEverywhere() async throws {
    try await cancelEverywhere(input: 7, booking)
    try await failEverywhere(input: 7, booking)
  }

  @Test func anAdapterStandsTheFuzzer() async throws {
    try await CallbackFuzzer.check(seeds: 0..<200) { api in
      try await withResolver { (resolver: Resolver<Int>) in
        let request = api.start { value, error in resolver.resolve(value, error) }
        resolver.onCancel { _ in request.cancel() }
      }
    }
  }
}
