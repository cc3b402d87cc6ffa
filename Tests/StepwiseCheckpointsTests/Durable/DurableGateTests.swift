// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Chains in a durable run that are cancelled before they begin, at their gate or under their time limit: they still replay
/// what they did in an earlier process.
@Suite(.timeLimit(.minutes(2)))
struct DurableGateTests {
  private let ledger = Ledger()
  private let store = MemoryCheckpointStore()

  /// Completes a step that can be undone, and then says that it is ready, and waits.
  private func part(_ name: String, _ how: String, _ ready: Once<Void>) -> Chain<Int, Int> {
    let chain = Chain(name, undo: { [ledger] (_: Int) in ledger.add("undo \(name)") }) { [ledger] (input: Int) in
      ledger.add(name)
      return input
    }
    .then("\(name) waits") { input in
      ready.settle(())
      try await Task.sleep(for: .seconds(3_600))
      return input
    }
    return how == "serial" ? chain.overlap(.serial) : chain.timeout(.seconds(7_200))
  }

  @Test(arguments: ["serial", "timeout"], ["race", "zip", "then"])
  func `A part that a cancelled run has not entered is undone`(how: String, combine: String) async throws {
    for round in 0..<20 {
      let id = "\(round)"
      let (a, b) = (Once<Void>(), Once<Void>())
      let (first, second) = (part("a", how, a), part("b", how, b))
      let chain =
        switch combine {
        case "race": Chain.race(first, second)
        case "zip": Chain.zip(first, second).then("sum") { $0 + $1 }
        default: Chain("begin") { (input: Int) in input }.appending(first)
        }
      let run = chain.start(1, id: id, in: store)
      await a.valueIgnoringCancellation()
      if combine != "then" { await b.valueIgnoringCancellation() }
      chain.cancelRuns()
      _ = await run.outcome
      let before = ledger.lines
      let cancelled = chain.start(1, id: id, in: store)
      cancelled.cancel(reason: "customer")
      let outcome = try await expectNoDelay { await cancelled.outcome }
      guard case .cancelled = outcome else {
        Issue.record("it was not cancelled: \(outcome)")
        return
      }
      let undone = combine == "then" ? ["undo a"] : ["undo a", "undo b"]
      #expect(ledger.lines.dropFirst(before.count).sorted() == undone)
      #expect(try await chain.unfinished(in: store).isEmpty)
    }
  }

  @Test
  func `A step in a scope with a limit that a cancelled run has not entered is undone`() async throws {
    for round in 0..<20 {
      let (id, ready) = ("step \(round)", Once<Void>())
      let work: @Sendable (Int) async throws -> Int = { [ledger] input in
        try await step("book") {
          ledger.add("book")
        } undo: {
          ledger.add("undo book")
        }
        try await step("wait") {
          ready.settle(())
          try await Task.sleep(for: .seconds(3_600))
        }
        return input
      }
      let chain = Chain("all") { (input: Int) in
        try await steps("outer", timeout: .seconds(7_200)) { try await work(input) }
      }
      let run = chain.start(1, id: id, in: store)
      await ready.valueIgnoringCancellation()
      chain.cancelRuns()
      _ = await run.outcome
      let before = ledger.lines
      let cancelled = chain.start(1, id: id, in: store)
      cancelled.cancel(reason: "customer")
      guard case .cancelled = try await expectNoDelay({ await cancelled.outcome }) else {
        Issue.record("it was not cancelled")
        return
      }
      #expect(ledger.lines.dropFirst(before.count) == ["undo book"])
      #expect(try await chain.unfinished(in: store).isEmpty)
    }
  }

  @Test(arguments: ["race", "zip"])
  func `A branch that waits for its gate while another decides is no different code`(combine: String) async throws {
    let (isSecond, waits, occupied) = (Once<Void>(), Once<Void>(), Once<Void>())
    let deciding = Chain("begin") { (input: Int) in input }.then("decide") { input in
      if isSecond.settled == nil { try await Task.sleep(for: .seconds(3_600)) }
      if combine == "zip" { throw Declined(card: "visa") }
      return input
    }
    let waiting = Chain("book") { (input: Int) in input }.then("wait") { input in
      if isSecond.settled == nil { waits.settle(()) } else { occupied.settle(()) }
      try await Task.sleep(for: .seconds(3_600))
      return input
    }
    .overlap(.serial)
    let chain = combine == "race" ? Chain.race(deciding, waiting) : Chain.zip(deciding, waiting).then("sum") { $0 + $1 }
    let run = chain.start(1, id: "x", in: store)
    await waits.valueIgnoringCancellation()
    chain.cancelRuns()
    _ = await run.outcome
    isSecond.settle(())
    let other = waiting.start(2)
    await occupied.valueIgnoringCancellation()
    if combine == "race" {
      #expect(try await chain.run(1, id: "x", in: store) == 1)
    } else {
      await #expect(throws: Declined(card: "visa")) { try await chain.run(1, id: "x", in: store) }
    }
    other.cancel()
    _ = await other.outcome
  }
}
