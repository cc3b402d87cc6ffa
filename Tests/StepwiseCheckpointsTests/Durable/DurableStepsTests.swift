// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// A step is stored as a whole, and `steps` is a scope whose steps are stored one by one.
@Suite(.timeLimit(.minutes(2)))
struct DurableStepsTests {
  private let ledger = Ledger()
  private let base = MemoryCheckpointStore()

  // G185
  @Test(arguments: [false, true]) func `No completed step of a scope is repeated`(isLimited: Bool) async throws {
    for death in 2...20 {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      // The end of a step is lost with its write.
      let store = DyingStore(base, at: death)
      let book: @Sendable (String) async throws -> String = { city in
        let hotel = try await step("hotel") {
          ledger.add("reserve")
          return "hotel in \(city)"
        } undo: { _ in
          ledger.add("release")
        }
        try await step("charge") { ledger.add("charge") }
        return hotel
      }
      let chain = Chain("trip") { (city: String) in
        let hotel =
          isLimited
          ? try await steps("book", timeout: .seconds(600)) { try await book(city) }
          : try await steps("book") { try await book(city) }
        try await step("mail") { ledger.add("mail") }
        return hotel
      }
      _ = try? await chain.run("Rome", id: "t", in: store)
      #expect(try await chain.run("Rome", id: "t", in: base) == "hotel in Rome")
      // At most the step in progress, whose end was not stored.
      #expect(ledger.lines.count <= 4 && ledger.count("release") == 0, "\(death): \(ledger.lines)")
      if store.writes < death { return }
    }
    Issue.record("more writes than expected")
  }

  // G186
  @Test func `A step is stored as a whole, with the steps inside it`() async throws {
    let store = DyingStore(base)
    let chain = Chain("order") { [ledger] (input: Int) in
      let sum = try await step("outer", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
        let one = try await step("one") {
          ledger.add("one")
          return 1
        }
        let two = try await step("two", retry: RetryPolicy(maxAttempts: 3, backoff: .none)) {
          ledger.add("two")
          if ledger.count("two") < 3 { throw Opaque() }
          return 2
        }
        return one + two
      }
      try await step("last") {
        ledger.add("last")
        if ledger.count("last") == 1 { store.die() }
      }
      return sum + input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(try await chain.run(1, id: "x", in: base) == 4)
    #expect(ledger.lines == ["one", "two", "two", "two", "last", "last"])
    let record = try #require(try await base.load("x"))
    let stored = try #require(try record.durableRun(at: "memory"))
    let steps = stored.events.compactMap { event in
      if case .completed(let path, _, _, _, _) = event { path } else { nil }
    }
    #expect(steps.allSatisfy { !$0.hasSuffix("one") && !$0.hasSuffix("two") }, "\(steps)")
  }

  /// What is inside of a step that cannot be undone there.
  enum Inner: String, CaseIterable {
    case step, plannedStep, plainChain, nestedStep

    func run(_ ledger: Ledger) async throws -> Int {
      let undo: @Sendable () async throws -> Void = { ledger.add("undo inner") }
      switch self {
      case .step:
        return try await Stepwise.step(
          "inner",
          { () async throws -> Int in
            ledger.add("inner"); return 1
          },
          undo: undo
        )
      case .plannedStep:
        return try await Chain("inner", undo: { (_: Int) in ledger.add("undo inner") }) { (input: Int) in
          ledger.add("inner")
          return input
        }.run(1)
      case .plainChain:
        return try await Chain("plain") { (input: Int) in
          try await Stepwise.step(
            "inner",
            { () async throws -> Int in
              ledger.add("inner"); return input
            },
            undo: undo
          )
        }.run(1)
      case .nestedStep:
        return try await Stepwise.step("middle") {
          try await Stepwise.step(
            "inner",
            { () async throws -> Int in
              ledger.add("inner"); return 1
            },
            undo: undo
          )
        }
      }
    }
  }

  // G187
  @Test(arguments: Inner.allCases)
  func `A step with undo inside a step stops the run before its body`(inner: Inner) async throws {
    let chain = Chain("order") { [ledger] (_: Int) in
      let value =
        (try? await step("outer", retry: RetryPolicy(maxAttempts: 3, backoff: .none)) {
          ledger.add("outer")
          return (try? await inner.run(ledger)) ?? 7
        } undo: { _ in
          ledger.add("undo outer")
        }) ?? 9
      try await step("later") { ledger.add("later") }
      return value
    }
    for _ in 0..<2 {
      let error = await #expect(throws: CheckpointError.self) { try await chain.run(1, id: "x", in: base) }
      guard case .undoInStep(_, _, "inner", _)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect("\(error as Any)".contains("steps(\""))
    }
    #expect(ledger.lines == ["outer", "outer"])
    #expect(try await chain.unfinished(in: base) == ["x"])
  }

  // G188
  @Test func `Each step inside a step has an idempotency key, which stays the same`() async throws {
    let (keys, store) = (Ledger(), DyingStore(base))
    @Sendable func note(_ name: String) { keys.add("\(name) \(CurrentStep.idempotencyKey ?? "nil")") }
    let pay = Chain("pay") { (input: Int) in
      try await step("a") { note("a") }
      try await step("b") { note("b") }
      return input
    }
    let chain = Chain("order") { [ledger] (input: Int) in
      note("between")
      try await step("outer", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
        note("outer")
        try await step("a") { note("inner a") }
        try await step("a") { note("second a") }
        _ = try await pay.run(1)
        ledger.add("outer")
        if ledger.count("outer") == 1 { throw Opaque() }
        if ledger.count("outer") == 2 { store.die() }
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    _ = try await chain.run(1, id: "x", in: base)
    let all = Set(keys.lines)
    // Three bodies, of which two are in one process: each name has one key, and no other name has that key.
    #expect(all.count == 6, "\(keys.lines)")
    #expect(all.contains("between nil"))
    #expect(Set(all.map { $0.split(separator: " ").last ?? "" }).count == 6, "\(keys.lines)")
  }

  // G189
  @Test func `The steps of a chain that runs between steps are stored`() async throws {
    for death in 2...20 {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      let store = DyingStore(base, at: death, isLate: true)
      let chain = Chain("order") { (input: Int) in
        let first = try await Chain("plain") { (input: Int) in
          try await step("c") {
            ledger.add("c")
            return input
          }
        }.run(input)
        let second = try await Chain("book", undo: { (_: Int) in ledger.add("undo book") }) { (input: Int) in
          ledger.add("book")
          return input + 10
        }
        .then("pay") { input in
          ledger.add("pay")
          return input
        }
        .run(first)
        try await step("last") { ledger.add("last") }
        return second
      }
      _ = try? await chain.run(1, id: "x", in: store)
      #expect(try await chain.run(1, id: "x", in: base) == 11)
      // What the inner run has completed is not undone, as in memory; one step may be repeated.
      #expect(ledger.lines.count <= 5 && ledger.count("undo book") == 0, "\(death): \(ledger.lines)")
      #expect(try await chain.unfinished(in: base).isEmpty)
      if store.writes < death { return }
    }
    Issue.record("more writes than expected")
  }

  // G190
  @Test func `The first closure of a chain with appended parts contains steps`() async throws {
    let store = DyingStore(base)
    let chain = Chain("first") { [ledger] (input: Int) in
      ledger.add("first")
      return try await step("a") {
        ledger.add("a")
        return input + 1
      }
    }
    .appending(
      Step("reusable") { [ledger] (input: Int) in
        ledger.add("reusable")
        return input + 1
      }
    )
    .appending(
      Chain("second") { [ledger] (input: Int) in
        ledger.add("second")
        return try await step("last") {
          ledger.add("last")
          if ledger.count("last") == 1 { store.die() }
          return input + 1
        }
      }
    )
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(try await chain.run(1, id: "x", in: base) == 4)
    #expect(ledger.lines == ["first", "a", "reusable", "second", "last", "first", "second", "last"])
  }

  // G191
  @Test func `A failed attempt of a scope undoes its steps, and the next one repeats them`() async throws {
    for death in 2...20 {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      let store = DyingStore(base, at: death, isLate: true)
      let chain = Chain("order") { (input: Int) in
        try await steps("book", retry: RetryPolicy(maxAttempts: 3, backoff: .none)) {
          let number = try await step("seat") {
            ledger.add("seat")
            return ledger.count("seat")
          } undo: { number in
            ledger.add("undo \(number)")
          }
          try await step("pay") {
            ledger.add("pay")
            if ledger.count("pay") == 1 { throw Declined(card: "visa") }
          }
          return number
        }
        return input
      }
      _ = try? await chain.run(1, id: "x", in: store)
      #expect(try await chain.run(1, id: "x", in: base) == 1)
      #expect(ledger.lines.contains { $0.hasPrefix("undo") }, "\(death): \(ledger.lines)")
      #expect(try await chain.unfinished(in: base).isEmpty)
      if store.writes < death { return }
    }
    Issue.record("more writes than expected")
  }
}

extension DurableStepsTests {
  /// Where a step has no order.
  enum Outside: CaseIterable {
    case task, executor, taskInScope

    func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
      switch self {
      case .task: try await Task { try await work() }.value
      case .executor: try await withTaskExecutorPreference(globalConcurrentExecutor) { try await work() }
      case .taskInScope: try await steps("scope") { try await Task { try await work() }.value }
      }
    }
  }

  // G195
  @Test(arguments: Outside.allCases)
  func `A step outside of the order of the run stops it before its body`(place: Outside) async throws {
    let (ledger, base) = (Ledger(), MemoryCheckpointStore())
    let chain = Chain("order") { (input: Int) in
      try await step("first") { ledger.add("first") }
      // No code that catches the error lets the run continue.
      try? await place.run { try await step("late") { ledger.add("late") } }
      try await step("last") { ledger.add("last") }
      return input
    }
    for _ in 0..<2 {
      let error = await #expect(throws: CheckpointError.self) { try await chain.run(1, id: "x", in: base) }
      guard case .stepOutside(_, _, step: "late") = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
    #expect(ledger.lines == ["first"])
    #expect(try await chain.unfinished(in: base) == ["x"])
  }

  // G195
  @Test func `Steps on the main actor, in actors and in child tasks belong to the order of the run`() async throws {
    actor Counter {
      func add(_ ledger: Ledger) async throws { try await step("actor") { ledger.add("actor") } }
    }
    let (ledger, counter) = (Ledger(), Counter())
    let chain = Chain("order") { (input: Int) in
      try await { @MainActor in try await step("main") { ledger.add("main") } }()
      try await counter.add(ledger)
      async let child: Void = step("child") { ledger.add("child") }
      try await child
      return input
    }
    #expect(try await chain.run(1, id: "x", in: MemoryCheckpointStore()) == 1)
    #expect(ledger.lines == ["main", "actor", "child"])
  }

  // G198
  @Test func `Code that waits for something else than the run is reported in a replay`() async throws {
    let (ledger, base, isStored, never) = (Ledger(), MemoryCheckpointStore(), Once<Void>(), Once<Void>())
    let store = DyingStore(base)
    let chain = Chain("order") { (input: Int) in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          if isStored.settled != nil { await never.value() }
          try await step("late") { ledger.add("late") }
          isStored.settle(())
        }
        group.addTask {
          try await step("last") {
            ledger.add("last")
            await isStored.valueIgnoringCancellation()
            store.die()
          }
        }
        try await group.waitForAll()
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    let patience = DurableRun.Patience(duration: .milliseconds(50))
    let error = await DurableRun.Patience.$current.withValue(patience) {
      await #expect(throws: CheckpointError.self) { try await chain.run(1, id: "x", in: base) }
    }
    guard case .waitOutside(_, _, "order/late", ["order/last"])? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(ledger.lines.sorted() == ["last", "late"])
    #expect(try await chain.unfinished(in: base) == ["x"])
  }
}
