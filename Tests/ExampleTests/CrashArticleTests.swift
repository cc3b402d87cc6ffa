// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The samples of the page on crashes.
@Suite(.timeLimit(.minutes(5)))
struct CrashArticleTests {
  struct Crash: Error {}

  @Test(arguments: [false, true])
  func `A crash at each save leads to the same result`(isSaved: Bool) async throws {
    let undisturbed = FaultInjectingStore(MemoryCheckpointStore())
    let expected = try await Import.start(lines: ["1", "2", "3"]).run(id: "import", in: undisturbed)
    #expect(undisturbed.saves > 3)

    for save in 1...undisturbed.saves {
      let store = MemoryCheckpointStore()
      let crashing = FaultInjectingStore(store, faults: [save: isSaved ? .failAfterwards(Crash()) : .fail(Crash())])
      await #expect(throws: Crash.self) {
        try await Import.start(lines: ["1", "2", "3"]).run(id: "import", in: crashing)
      }
      #expect(try await Import.start(lines: ["1", "2", "3"]).run(id: "import", in: store) == expected)
    }
  }

  struct Bank: Sendable {
    let ledger: EffectLedger

    func charge(_ amount: Int, key: String?) async throws { ledger.record("charge", key: key) }
    func refund(_ amount: Int, key: String?) async throws { ledger.record("refund", key: key) }
  }

  struct Refused: Error, Codable {}

  @Test func `A crash of an order repeats no effect`() async throws {
    @Sendable func order(_ ledger: EffectLedger) -> Chain<Int, Int> {
      let bank = Bank(ledger: ledger)
      return Chain("order") { (amount: Int) in
        try await step("charge") {
          try await bank.charge(amount, key: CurrentStep.idempotencyKey)
        } undo: {
          try await bank.refund(amount, key: CurrentStep.idempotencyKey)
        }
        return amount
      }
    }
    @Sendable func failingOrder(_ ledger: EffectLedger) -> Chain<Int, Int> {
      order(ledger).appending(Chain("ship") { (_: Int) -> Int in throw Refused() })
    }

    try await crashEverywhere(input: 7, order)
    await #expect(throws: Refused.self) { try await crashEverywhere(input: 0, failingOrder) }

    let store = MemoryCheckpointStore()
    try await order(EffectLedger()).checkReplay(in: store)
  }

  enum Import: Progression, Codable {
    case start(lines: [String]), sum([Int], at: Int, total: Int), done(Int)

    func next() async throws -> Import {
      switch self {
      case .start(let lines): .sum(lines.compactMap { Int($0) }, at: 0, total: 0)
      case .sum(let numbers, let place, let total) where place < numbers.count:
        .sum(numbers, at: place + 1, total: total + numbers[place])
      case .sum(_, _, let total): .done(total)
      case .done: try completed()
      }
    }

    var result: Int? {
      if case .done(let total) = self { total } else { nil }
    }
  }
}
