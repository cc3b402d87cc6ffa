// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Replay of steps that ran concurrently: the same order, the same branches, and every undo.
@Suite(.timeLimit(.minutes(2)))
struct DurableBranchTests {
  private let ledger = Ledger()
  private let base = MemoryCheckpointStore()

  @Test
  func `A failure in a child task is replayed after what completed before it`() async throws {
    let (store, noted) = (DyingStore(base), Once<Void>())
    let chain = Chain("children") { [ledger] (input: Int) in
      do {
        try await withThrowingTaskGroup(of: Int.self) { group in
          group.addTask {
            try await step("failing") {
              await noted.valueIgnoringCancellation()
              throw Declined(card: "visa")
            }
          }
          group.addTask {
            // In a replay, the failure is there first.
            for _ in 0..<50 { await Task.yield() }
            return try await step("value") { 1 }
          }
          for try await number in group {
            try await step("note \(number)") { ledger.add("note \(number)") }
            noted.settle(())
          }
        }
      } catch is Declined {}
      try await step("after") {
        ledger.add("after")
        if ledger.count("after") == 1 { store.die() }
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(ledger.lines == ["note 1", "after"])
    #expect(try await chain.run(1, id: "x", in: base) == 1)
    #expect(ledger.lines == ["note 1", "after", "after"])
  }

  @Test
  func `A child task that a failure cancelled delays nothing in a replay`() async throws {
    let (store, begun) = (DyingStore(base), Once<Void>())
    let chain = Chain("children") { [ledger] (input: Int) in
      try? await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          // The replayed failure, which cancels this, waits until the step is called.
          if ledger.count("slow") > 0 { for _ in 0..<1_000 { await Task.yield() } }
          try await step("slow") {
            ledger.add("slow")
            begun.settle(())
            try await Task.sleep(for: .seconds(3_600))
          }
        }
        group.addTask {
          try await step("failing") {
            await begun.valueIgnoringCancellation()
            throw Declined(card: "visa")
          }
        }
        while try await group.next() != nil {}
      }
      for number in 0..<3 { try await step("after \(number)") { ledger.add("after \(number)") } }
      try await step("last") {
        ledger.add("last")
        if ledger.count("last") == 1 { store.die() }
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(try await expectNoDelay { try await chain.run(1, id: "x", in: base) } == 1)
    #expect(ledger.lines == ["slow", "after 0", "after 1", "after 2", "last", "last"])
  }

  /// A branch that books, recovers from an error or tries again, and never ends, beside one that decides.
  private func branches(_ combine: String, _ how: String) -> Chain<Int, Int> {
    let ready = Once<Void>()
    let book = Chain(
      "book",
      undo: { [ledger] (_: Int) in
        ledger.add("undo book")
        if ledger.count("undo book") == 1 { throw Opaque() }
      }
    ) { [ledger] (input: Int) in
      ledger.add("book")
      return input
    }
    let work = Step("try") { [ledger] (input: Int) -> Int in
      ledger.add("try")
      if how == "recover" || ledger.count("try") == 1 { throw Declined(card: "visa") }
      return input
    }
    let failing = Chain(work)
    let again =
      switch how {
      case "recover":
        failing.recover { [ledger] _ in
          ledger.add("recover")
          return 7
        }
      default: failing.retry(RetryPolicy(maxAttempts: 3, backoff: .none))
      }
    let slow = book.appending(again).then("rest") { (input: Int) in
      ready.settle(())
      try await Task.sleep(for: .seconds(3_600))
      return input
    }
    let last = Step("fast") { (input: Int) -> Int in
      _ = await ready.value()
      try Task.checkCancellation()
      if combine == "zip" { throw Declined(card: "fast") }
      return input
    }
    let fast = Chain(last)
    switch combine {
    case "race": return .race(slow, fast)
    default: return Chain.zip(slow, fast).then("sum") { $0 + $1 }.recover { _ in 9 }
    }
  }

  @Test(
    arguments: ["race", "zip"],
    ["recover", "retry"]
  )
  func `A branch that lost replays what it did before, and is undone`(combine: String, how: String) async throws {
    let chain = branches(combine, how).then("use") { [ledger] value in
      ledger.add("use \(value)")
      return value
    }
    let result = combine == "race" ? 1 : 9
    #expect(try await chain.run(1, id: "x", in: base) == result)
    let before = ledger.lines
    // The first undo has failed.
    #expect(try await chain.unfinished(in: base) == ["x"])
    #expect(try await chain.run(1, id: "x", in: base) == result)
    // It is code between steps.
    #expect(ledger.lines == before + (how == "recover" ? ["recover"] : []) + ["undo book"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test(arguments: ["race", "zip"])
  func `A branch that lost replays in each process in which the run may die`(combine: String) async throws {
    for last in 1...40 {
      for isLate in [false, true] {
        let base = MemoryCheckpointStore()
        let store = DyingStore(base, at: last, isLate: isLate)
        let trial = DurableBranchTests()
        let chain = trial.branches(combine, "recover").then("use") { value in
          trial.ledger.add("use")
          return value
        }
        _ = try? await chain.run(1, id: "x", in: store)
        let result = combine == "race" ? 1 : 9
        #expect(try await chain.run(1, id: "x", in: base) == result, "\(last)")
        if try await !chain.unfinished(in: base).isEmpty { _ = try await chain.run(1, id: "x", in: base) }
        #expect(try await chain.unfinished(in: base).isEmpty, "\(last)")
        #expect(trial.ledger.count("use") <= 2, "\(last): \(trial.ledger.lines)")
        if store.writes < last { return }
      }
    }
    Issue.record("more writes than expected")
  }

  @Test
  func `Steps behind a replayed step do not wait for the steps inside it`() async throws {
    let store = DyingStore(base)
    let token = CancellationToken()
    let chain = Chain("mails") { [ledger] (input: Int) in
      for number in 0..<3 {
        try await step("book \(number)") {
          ledger.add("book \(number)")
        } undo: {
          ledger.add("undo \(number)")
        }
      }
      try await steps("all") {
        for number in 0..<3 {
          try await step("mail \(number)") {
            ledger.add("mail \(number)")
            if number == 1 { token.cancel() }
          }
        }
      }
      return input
    }
    _ = await chain.start(1, id: "x", in: store, cancelledBy: token).outcome
    #expect(try await chain.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) {
      try await expectNoDelay { try await chain.resume(id: "x", in: base) }
    }
    #expect(ledger.lines.suffix(3) == ["undo 2", "undo 1", "undo 0"])
  }

  @Test
  func `Steps inside a failed branch that is not repeated delay nothing`() async throws {
    let store = DyingStore(base)
    let failing = Chain("mail") { (input: Int) in input }
      .then("label") { (input: Int) in input }
      .then("fail") { (_: Int) throws -> Int in throw Declined(card: "visa") }
    let chain = Chain.zip(failing, Chain("other") { (input: Int) in input })
      .then("sum") { $0 + $1 }
      .recover { _ in 3 }
      .then("next") { (input: Int) in input }
      .then("last") { [ledger] (input: Int) in
        ledger.add("last")
        if ledger.count("last") == 1 { store.die() }
        return input
      }
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(try await expectNoDelay { try await chain.run(1, id: "x", in: base) } == 3)
    #expect(ledger.lines == ["last", "last"])
  }
}
