// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct DurableReplayTests {
  /// Otherwise the other card would be charged as well.
  // G146
  @Test func `A failure that code caught takes the same branch again`() async throws {
    for last in 1...12 {
      let (ledger, base, tries) = (Ledger(), MemoryCheckpointStore(), Ledger())
      let chain = Chain("cards") { (_: Int) in
        do {
          return try await step("visa") {
            // It would succeed later.
            tries.add("visa")
            if tries.lines.count == 1 { throw Declined(card: "visa") }
            ledger.add("visa")
            return "visa"
          }
        } catch is Declined {
          let card = try await step("master") {
            ledger.add("master")
            return "master"
          }
          try await step("mail") { ledger.add("mail") }
          return card
        }
      }
      let store = DyingStore(base, at: last, isLate: true)
      _ = try? await chain.run(1, id: "x", in: store)
      _ = try await chain.run(1, id: "x", in: base)
      #expect(Set(ledger.lines).isSuperset(of: ["visa", "master"]) == false, "\(last): \(ledger.lines)")
      if store.writes < last { return }
    }
  }

  // G146
  @Test func `Errors are the same live and replayed`() async throws {
    for isCodable in [true, false] {
      let (store, seen, bodies) = (MemoryCheckpointStore(), Ledger(), Ledger())
      let chain = Chain("errors") { (_: Int) in
        do {
          try await step("a") {
            bodies.add("a")
            if isCodable { throw Declined(card: "x") } else { throw Opaque() }
          }
        } catch {
          seen.add("\(type(of: error)) \(error)")
        }
        try await step("b") {}
        if bodies.count("stop") == 0 {
          bodies.add("stop")
          withUnsafeCurrentTask { $0?.cancel() }
        }
        try await step("c") {}
        return 1
      }
      _ = try? await chain.run(1, id: "x", in: store)
      _ = try? await chain.run(1, id: "x", in: store)
      #expect(bodies.count("a") == 1)
      #expect(seen.lines.count == 2 && Set(seen.lines).count == 1, "\(seen.lines)")
      #expect(seen.lines[0].hasPrefix(isCodable ? "Declined" : "StepFailure"))
    }
  }

  @Test func `Steps attached by then are stored`() async throws {
    try await everywhere { ledger in
      Chain("one") { (input: Int) in
        ledger.add("one")
        return input + 1
      }
      .then("two", undo: { _ in ledger.add("undo two") }) { input in
        ledger.add("two")
        return "\(input)"
      }
      .then { text in
        ledger.add("three")
        return text + "!"
      }
      .then("void") { text in ledger.add("void") }
      .then("five") {
        ledger.add("five"); return 5
      }
    } _: { last, ledger, result in
      #expect(result == 5, "\(last)")
      #expect(ledger.count("undo two") == 0)
      let repeated = ["one", "two", "three", "void", "five"].filter { ledger.count($0) != 1 }
      #expect(repeated.count <= 1 && repeated.allSatisfy { ledger.count($0) == 2 }, "\(last): \(ledger.lines)")
    }
  }

  @Test func `Retries undo their attempts`() async throws {
    try await everywhere { ledger in
      Chain("a") { (input: Int) in
        ledger.add("a")
        return input
      }
      .then("b", undo: { _ in ledger.add("undo b") }) { input in
        ledger.add("b")
        return input
      }
      .then("c") { input in
        ledger.add("c")
        if ledger.count("c") < 3 { throw Declined(card: "c") }
        return input
      }
      .retry(RetryPolicy(maxAttempts: 9, backoff: .none))
    } _: { last, ledger, result in
      #expect(result == 1)
      #expect(ledger.count("b") - ledger.count("undo b") <= 2, "\(last): \(ledger.lines)")
      #expect(ledger.lines.last == "c")
    }
  }

  @Test func `Attempts of a step undo what is inside`() async throws {
    try await everywhere { ledger in
      Chain("outer") { (input: Int) in
        try await steps("around", retry: RetryPolicy(maxAttempts: 5, backoff: .none)) {
          try await step("b") {
            ledger.add("b")
          } undo: {
            ledger.add("undo b")
          }
          try await step("c") {
            ledger.add("c")
            if ledger.count("c") < 3 { throw Declined(card: "c") }
          }
        }
        try await step("last") { ledger.add("last") }
        return input
      }
    } _: { last, ledger, result in
      #expect(result == 1)
      let undone = ledger.lines.split(separator: "undo b").last ?? []
      #expect(undone.contains("b") && undone.contains("c") && undone.last == "last", "\(last): \(ledger.lines)")
      #expect(ledger.count("b") - ledger.count("undo b") <= 2, "\(last): \(ledger.lines)")
    }
  }

  @Test func `Branches of zip are stored`() async throws {
    try await everywhere { ledger in
      func branch(_ name: String) -> Chain<Int, String> {
        Chain(name) { (input: Int) in
          ledger.add(name)
          return name
        }
        .then(name + " 2", undo: { _ in ledger.add("undo " + name) }) { text in
          ledger.add(name + " 2")
          return text + "\(1)"
        }
      }
      return Chain.zip(branch("l"), branch("r")).then("join") { l, r in
        ledger.add("join")
        return l + r
      }
    } _: { last, ledger, result in
      #expect(result == "l1r1")
      #expect(!ledger.lines.contains { $0.hasPrefix("undo") })
      let counts = ["l", "r", "l 2", "r 2", "join"].map { ledger.count($0) }
      #expect(counts.allSatisfy { (1...2).contains($0) } && counts.reduce(0, +) <= 7, "\(last): \(ledger.lines)")
    }
  }

  @Test func `The winner of a race is stored`() async throws {
    try await everywhere { ledger in
      let first = Once<Void>()
      func branch(_ name: String, waits: Bool) -> Chain<Int, String> {
        Chain(name, undo: { (_: String) in ledger.add("undo " + name) }) { (input: Int) in
          ledger.add(name)
          return name
        }
        .then("end") { text in
          if waits { try await Task.sleep(for: .seconds(3_600)) }
          first.settle(())
          return text
        }
      }
      return Chain.race(branch("slow", waits: true), branch("fast", waits: false)).then("use") { text in
        ledger.add("use " + text)
        return text
      }
    } _: { last, ledger, result in
      #expect(result == "fast", "\(last)")
      #expect(ledger.count("undo fast") == 0)
      #expect(ledger.count("undo slow") >= 1 || ledger.count("slow") == 0, "\(last): \(ledger.lines)")
    }
  }

  @Test func `Elements of thenMap have their own steps`() async throws {
    try await everywhere { ledger in
      Chain("list") { (_: Int) in [1, 2, 3] }.thenMap("each", maxConcurrent: 2) { element in
        try await step("double") {
          ledger.add("double \(element)")
          return element * 2
        }
      }
    } _: { last, ledger, result in
      #expect(result == [2, 4, 6])
      let counts = [1, 2, 3].map { ledger.count("double \($0)") }
      #expect(counts.allSatisfy { (1...2).contains($0) }, "\(last): \(ledger.lines)")
    }
  }

  // G263
  @Test func `Kept failures are stored, and have their types in a replay`() async throws {
    struct Unstorable: Error {}
    try await everywhere { ledger in
      Chain("list") { (_: Int) in [1, 2, 3] }
        .thenMap("each", maxConcurrent: 1, failures: .kept) { number -> Int? in
          ledger.add("each \(number)")
          if number == 2 { throw Declined(card: "two") }
          if number == 3 { throw Unstorable() }
          return nil
        }
        .then("end") { results in
          results.map { result in
            switch result {
            case .success(let value): "\(value as Any)"
            case .failure(let error as Declined): error.card
            case .failure(let error): "\(type(of: error))"
            }
          }
        }
        .thenMap("nothing", maxConcurrent: 1, failures: .kept) { _ in }
        .then("count") { results in results.count { result in (try? result.get()) != nil } }
        .then("check") { count in
          #expect(count == 3)
          return ledger.count("each 1")
        }
    } _: { last, ledger, result in
      #expect(result.map { (1...2).contains($0) } == true, "\(last): \(ledger.lines)")
    }
    let chain = Chain("list") { (_: Int) in [1, 2] }
      .thenMap("each", maxConcurrent: 1, failures: .kept) { number -> Int? in
        if number == 2 { throw Unstorable() }
        return nil
      }
      .then("texts") { results in results.map { "\($0)" } }
    let texts = try await chain.run(1, id: "x", in: MemoryCheckpointStore())
    #expect(texts[0] == "success(nil)")
    #expect(texts[1].contains("each threw"))
  }

  // G292
  @Test func `Nested chains are stored, and recover is code between steps`() async throws {
    try await everywhere { ledger in
      let inner = Chain("inner", undo: { (_: Int) in ledger.add("undo inner") }) { (input: Int) in
        ledger.add("inner")
        return input
      }
      .then("fails") { (_: Int) throws -> Int in
        ledger.add("fails")
        throw Declined(card: "n")
      }
      return Chain("start") { (input: Int) in input }
        .appending(inner)
        .recover(from: Declined.self) { error in
          #expect(error.card == "n")
          return try await step("instead") {
            ledger.add("instead")
            return 7
          }
        }
        .then("after") { value in
          ledger.add("after")
          return value
        }
    } _: { last, ledger, result in
      #expect(result == 7, "\(last): \(ledger.lines)")
      #expect(ledger.count("undo inner") >= 1 && ledger.count("inner") <= 2, "\(last): \(ledger.lines)")
      #expect(ledger.count("instead") <= 2 && ledger.count("after") <= 2)
    }
  }

  /// The steps of child tasks return in the stored order, but on a busy machine the tasks may end in another one.
  @Test func `An order of child tasks that is stored as a step is replayed`() async throws {
    try await everywhere { ledger in
      Chain("group") { (_: Int) in
        var order: [Int] = []
        try await withThrowingTaskGroup(of: Int.self) { group in
          for number in 0..<4 {
            group.addTask { try await step("child \(number)") { number } }
          }
          for try await number in group { order.append(number) }
        }
        let ended = order
        let stored = try await step("order") { ended }
        try await step("note") { ledger.add("\(stored)") }
        try await step("end") { ledger.add("end \(stored)") }
        return stored
      }
    } _: { last, ledger, result in
      let order = result ?? []
      #expect(Set(ledger.lines).isSubset(of: ["\(order)", "end \(order)"]) || ledger.count("\(order)") == 1, "\(last)")
    }
  }

  // MARK: - Changed code

  private func stopped(_ store: MemoryCheckpointStore, _ names: [String], _ ledger: Ledger) -> Chain<Int, Int> {
    Chain("changed") { (input: Int) in
      for name in names {
        if name == "STOP" {
          withUnsafeCurrentTask { $0?.cancel() }
        } else {
          try await step(name) {
            ledger.add(name)
          } undo: {
            ledger.add("undo " + name)
          }
        }
      }
      return input
    }
    .onError { _ in ledger.add("onError") }
  }

  // G144
  @Test(arguments: [["b", "a"], ["a", "c"], ["c"], ["a"], []])
  func `A difference parks the run`(names: [String]) async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    _ = try? await stopped(store, ["a", "b", "STOP", "c"], ledger).run(1, id: "x", in: store)
    #expect(ledger.lines == ["a", "b"])
    await #expect {
      try await stopped(store, names, ledger).run(1, id: "x", in: store)
    } throws: { error in
      guard case CheckpointError.differentSteps = error else { return false }
      return true
    }
    #expect(ledger.lines == ["a", "b"])
    #expect(try await stopped(store, ["a", "b", "c"], ledger).run(1, id: "x", in: store) == 1)
    #expect(ledger.lines == ["a", "b", "c"])
  }

  // G196
  @Test func `A name that child tasks repeat is numbered in the order of the calls`() async throws {
    for death in 2...30 {
      let (base, ledger) = (MemoryCheckpointStore(), Ledger())
      let store = DyingStore(base, at: death, isLate: true)
      let chain = Chain("names") { (input: Int) in
        for _ in 0..<2 { try await step("same") { ledger.add("same") } }
        return try await withThrowingTaskGroup(of: String.self) { group in
          for number in 0..<3 {
            group.addTask {
              try await step("child") {
                ledger.add("child \(number) \(CurrentStep.idempotencyKey ?? "")")
                return "\(number)"
              }
            }
          }
          var values: [String] = []
          for try await value in group { values.append(value) }
          return values.sorted()
        }
      }
      _ = try? await chain.run(1, id: "x", in: store)
      #expect(try await chain.run(1, id: "x", in: base) == ["0", "1", "2"])
      // Each has a key of its own, in every process.
      #expect(Set(ledger.lines.filter { $0.hasPrefix("child") }).count == 3, "\(ledger.lines)")
      if store.writes < death { return }
    }
    Issue.record("more writes than expected")
  }

  // MARK: - Values

  @Test func `Keys survive crashes and differ after a remove`() async throws {
    let (store, keys) = (MemoryCheckpointStore(), Ledger())
    let chain = Chain("keys") { (_: Int) in
      try await step("a", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
        keys.add(CurrentStep.idempotencyKey ?? "")
        if keys.lines.count == 1 { throw Opaque() }
        if keys.lines.count == 2 { withUnsafeCurrentTask { $0?.cancel() }; try Task.checkCancellation() }
      } undo: {
        keys.add(CurrentStep.idempotencyKey ?? "")
      }
      if keys.lines.count == 3 { throw Opaque() }
      return 1
    }
    _ = try? await chain.run(1, id: "x", in: store)
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(
      keys.lines.count == 4 && Set(keys.lines[..<3]).count == 1 && keys.lines[3] != keys.lines[0],
      "\(keys.lines)"
    )
    try await store.remove("x")
    _ = try await chain.run(1, id: "x", in: store)
    #expect(
      keys.lines.count == 5 && Set(keys.lines).count == 3 && keys.lines.allSatisfy { (1...200).contains($0.utf8.count) }
    )
    #expect(CurrentStep.idempotencyKey == nil)
  }

  @Test func `The version is that of the start`() async throws {
    let (store, seen) = (MemoryCheckpointStore(), Ledger())
    let chain = Chain("version") { (_: Int) in
      seen.add("\(CurrentRun.version)")
      if seen.lines.count == 1 { withUnsafeCurrentTask { $0?.cancel() } }
      try await step("a") { seen.add("in \(CurrentRun.version)") }
      return 1
    }
    _ = try? await chain.run(1, id: "x", in: store, version: 3)
    _ = try await chain.run(1, id: "x", in: store, version: 4)
    #expect(seen.lines == ["3", "3", "in 3"])
    #expect(CurrentRun.version == .max)
  }
}
