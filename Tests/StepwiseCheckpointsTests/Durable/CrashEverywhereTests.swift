// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct CrashEverywhereTests {
  // G149
  @Test func `A correct chain passes`() async throws {
    let crashes = try await crashEverywhere { store in try await Orders().chain.run(2, id: "o", in: store) }
    #expect(crashes > 10)
  }

  // G149
  @Test func `An id between steps is found`() async throws {
    let chain = Chain("ids") { (_: Int) in
      let id = UUID()
      let text = try await step("a") { "\(id)" }
      try await step("b") {}
      return text == "\(id)"
    }
    await #expect(throws: CrashDifference.self) {
      try await crashEverywhere { store in try await chain.run(1, id: "x", in: store) }
    }
  }

  // G149
  @Test func `A variable that a step set is found`() async throws {
    let chain = Chain("variables") { (_: Int) in
      var count = 0
      try await step("a") { count += 1 }
      try await step("b") {}
      return count
    }
    await #expect(throws: CrashDifference.self) {
      try await crashEverywhere { store in try await chain.run(1, id: "x", in: store) }
    }
  }

  struct Declined: Error, Codable {}

  /// A chain of two steps around an effect, and the name of the effect that is wrong.
  enum PlantedBug: String, CaseIterable {
    case bodyWithoutKey, undoWithoutKey, effectBetweenSteps, effectBesideStepWithUndo, swallowedError

    var effect: String {
      switch self {
      case .undoWithoutKey: "release"
      case .swallowedError: "ship 99"
      default: "charge"
      }
    }

    func chain(_ ledger: EffectLedger) -> Chain<Int, Int> {
      Chain("order") { (_: Int) in
        switch self {
        case .bodyWithoutKey:
          try await step("charge") { ledger.record("charge") }
        case .undoWithoutKey:
          try await step("reserve") {
            ledger.record("reserve", key: CurrentStep.idempotencyKey)
          } undo: {
            ledger.record("release")
          }
        case .effectBetweenSteps:
          ledger.record("charge")
        case .effectBesideStepWithUndo:
          try await steps("outer") {
            try await step("inner") {
              1
            } undo: { (_: Int) in
            }
            ledger.record("charge")
          }
        case .swallowedError:
          let price = (try? await step("price") { 7 }) ?? 99
          ledger.record("ship \(price)", key: "ship")
        }
        try await step("close") {}
        if case .undoWithoutKey = self { throw Declined() }
        return 1
      }
    }
  }

  // G169
  @Test(arguments: PlantedBug.allCases) func `A ledger finds each planted bug`(bug: PlantedBug) async throws {
    let difference = await #expect(throws: CrashDifference.self) {
      try await crashEverywhere(input: 1, bug.chain)
    }
    #expect(difference?.effect == bug.effect, "\(String(describing: difference))")
    #expect(difference?.step == nil)
    #expect(difference?.fileID.hasSuffix("CrashEverywhereTests.swift") == true)
    #expect(difference?.description.contains("'\(bug.effect)'") == true)
  }

  // G169
  @Test(arguments: [false, true])
  func `Code that catches the error of a crash is found without an effect`(isInScope: Bool) async throws {
    let chain = Chain("order") { (_: Int) in
      if isInScope {
        try await steps("prices") { _ = try? await step("price") { 7 } }
      } else {
        _ = try? await step("price") { 7 }
      }
      return 1
    }
    let difference = await #expect(throws: CrashDifference.self) {
      try await crashEverywhere { store in try await chain.run(1, id: "x", in: store) }
    }
    #expect(difference?.step == "price")
    #expect(difference?.effect == nil)
    #expect(difference?.description.contains("caught the error of the store that the step 'price' threw") == true)
  }

  // G169
  @Test func `Code that catches the error of a step and throws it again passes`() async throws {
    let chain = Chain("order") { (number: Int) in
      let winner = try await Chain.race(
        Chain("fast") { (number: Int) in try await step("fast") { number } },
        Chain("slow") { (_: Int) in try await step("slow") { try await Task.sleep(for: .seconds(60)) } }.then { 0 }
      )
      .run(number)
      do {
        try await step("charge") { if winner == 0 { throw Declined() } }
      } catch is Declined {
        return 0
      } catch {
        _ = try? await step("note") {}
        throw error
      }
      return try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 1...2 { group.addTask { try await step("part \(number)") { number } } }
        return try await group.reduce(0, +)
      }
    }
    #expect(try await crashEverywhere { store in try await chain.run(1, id: "x", in: store) } > 8)
  }

  // G169
  @Test func `A chain whose effects have keys passes, and fails as it does undisturbed`() async throws {
    @Sendable func order(_ ledger: EffectLedger) -> Chain<Int, Int> {
      Chain("order") { (amount: Int) in
        try await step("reserve") {
          ledger.record("reserve", key: CurrentStep.idempotencyKey)
        } undo: {
          ledger.record("release", key: CurrentStep.idempotencyKey)
        }
        async let first: Void = step("mail") { ledger.record("mail", key: CurrentStep.idempotencyKey) }
        async let second: Void = step("bill") { ledger.record("bill", key: CurrentStep.idempotencyKey) }
        _ = try await (first, second)
        if amount == 0 { throw Declined() }
        return amount
      }
    }
    #expect(try await crashEverywhere(input: 7, order) > 8)
    await #expect(throws: Declined.self) { try await crashEverywhere(input: 0, order) }
    let ledger = EffectLedger()
    await #expect(throws: Declined.self) {
      try await crashEverywhere(effects: ledger) { store in try await order(ledger).run(0, id: "x", in: store) }
    }
  }

  // G169
  @Test func `A chain that cannot run at all does not pass`() async throws {
    struct Unstorable: Sendable {}
    let chain = Chain("order") { (amount: Int) in
      _ = try await step("a") { Unstorable() }
      return amount
    }
    await #expect(throws: CheckpointError.self) {
      try await crashEverywhere { store in try await chain.run(1, id: "x", in: store) }
    }
  }

  // G149
  @Test func `Replay finds runs that new code cannot resume`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    func chain(_ names: [String]) -> Chain<Int, Int> {
      Chain("deployed") { (input: Int) in
        for name in names {
          if name == "STOP" {
            withUnsafeCurrentTask { $0?.cancel() }
          } else {
            try await step(name) { ledger.add(name) }
          }
        }
        return input
      }
    }
    _ = try? await chain(["a", "b", "STOP", "c"]).run(1, id: "x", in: store)
    let before = try await store.load("x")
    #expect(try await chain(["a", "b", "c", "d"]).checkReplay(in: store) == 1)
    await #expect(throws: CheckpointError.self) { try await chain(["a", "c"]).checkReplay(in: store) }
    await #expect(throws: CheckpointError.self) { try await chain(["a"]).checkReplay(in: store) }
    #expect(ledger.lines == ["a", "b"])
    #expect(try await store.load("x") == before)
  }
}
