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
func approve(_ amount: Int) async { await Task.yield() }

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

private func transfer() async throws {
  let account = Account()
  async let first: Void = withdraw(80, from: account)
  async let second: Void = withdraw(80, from: account)
  _ = await (first, second)
  try require(await account.balance >= 0, "overdrawn")
}

/// The tests of the article, which must fail with the schedule that it prints.
@Suite(.timeLimit(.minutes(5)), .findsTheRace)
struct RaceArticleTests {
  @Test func `No interleaving overdraws the account`() async throws {
    try await explore(seeds: 0..<1_000) { _ in
      let account = Account()
      async let first: Void = withdraw(80, from: account)
      async let second: Void = withdraw(80, from: account)
      _ = await (first, second)
      try require(await account.balance >= 0, "overdrawn")
    }
  }

  @Test func `This interleaving overdraws the account`() async throws {
    try await simulate(schedule: "4:0") { _ in
      let account = Account()
      async let first: Void = withdraw(80, from: account)
      async let second: Void = withdraw(80, from: account)
      _ = await (first, second)
      try require(await account.balance >= 0, "overdrawn")
    }
  }
}

private struct FindsTheRace: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable () async throws -> Void
  ) async throws {
    guard testCase != nil else { return try await function() }
    try await withKnownIssue {
      try await function()
    } matching: { issue in
      let failure = issue.error as? SimulationFailure
      return failure?.schedule == "4:0" && failure?.description.contains("overdrawn") == true
    }
  }
}

extension Trait where Self == FindsTheRace {
  fileprivate static var findsTheRace: Self { FindsTheRace() }
}

@Suite(.timeLimit(.minutes(5)))
struct SimulationArticleTests {
  @Test func `A failure is recorded at the call`() async throws {
    let line = #line + 3
    try await withKnownIssue {
      do {
        try await explore(seeds: 0..<1_000) { _ in try await transfer() }
      } catch let failure as SimulationFailure {
        let location = SourceLocation(
          fileID: failure.fileID,
          filePath: failure.filePath,
          line: failure.line,
          column: failure.column
        )
        Issue.record(failure, sourceLocation: location)
      }
    } matching: { issue in
      issue.sourceLocation?.line == line && issue.sourceLocation?.fileID == #fileID
    }
  }

  @Test func `The usual order hides the race`() async throws {
    try await simulate(schedule: "") { _ in try await transfer() }
  }

  @Test func `A booking is cancelled and fails everywhere`() async throws {
    try await cancelEverywhere(input: 7, booking)
    try await failEverywhere(input: 7, booking)
  }

  @Test func `An adapter withstands the fuzzer`() async throws {
    try await CallbackFuzzer.check(seeds: 0..<200) { api in
      try await withResolver { (resolver: Resolver<Int>) in
        let request = api.start { value, error in resolver.resolve(value, error) }
        resolver.onCancel { _ in request.cancel() }
      }
    }
  }
}
