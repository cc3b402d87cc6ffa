// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// The pure order of what the code of a run receives, with calls and ends in random orders.
@Suite(.timeLimit(.minutes(2)))
struct DurableDeliveryTests {
  /// The code of a run, as its order sees it.
  fileprivate struct Code {
    var order: DurableOrder
    private var keys: [ObjectIdentifier: String] = [:]
    private(set) var received: [String] = []

    init(_ events: [DurableEvent]) { order = DurableOrder(events) }

    mutating func call(
      _ key: String,
      by task: Int = 0,
      isOwned: Bool = true,
      deadline: Int? = nil
    ) -> DurableOrder.Answer {
      let once = Once<Void>()
      keys[ObjectIdentifier(once)] = key
      let isWait = deadline != nil
      return order.call(key, by: task, once, step: isWait ? nil : isOwned, mayBeLeft: isWait, deadline: deadline)
    }

    /// Returns whether a task waits before it calls for something.
    mutating func holds(_ task: Int) -> Bool {
      let once = Once<Void>()
      keys[ObjectIdentifier(once)] = "task \(task)"
      return order.mustWaitToCall(task, once)
    }

    mutating func wait(for key: String) {
      let once = Once<Void>()
      keys[ObjectIdentifier(once)] = key
      let waits = order.wait(for: key, once)
      #expect(waits)
    }

    /// Notes what comes next, in words.
    mutating func next(held: [Int] = [], now: Int = 0, stored: Int = .max) -> String {
      let action = order.next(after: stored, held: held, now: now)
      let text =
        switch action {
        case .resume(let once): "resume \(keys[ObjectIdentifier(once)] ?? "")"
        case .admit(let task, let isNew): "admit \(isNew ? "new " : "")\(task)"
        case .interrupt(let reason): "interrupt \(reason ?? "")"
        case .begin(let calls): "begin \(calls.map { keys[ObjectIdentifier($0)] ?? "" }.joined(separator: " "))"
        case .expire(let key): "expire \(key)"
        case .differ(let stored, let found): "differ \(stored) \(found)"
        case .wait(.call(let key)): "wait \(key)"
        case .wait(.code): "wait"
        case .wait(.work): "work"
        case .rest: "rest"
        }
      received.append(text)
      return text
    }
  }

  /// Compares what a mutating call returns.
  private func expect<Value: Equatable>(
    _ found: Value,
    _ expected: Value,
    at location: SourceLocation = #_sourceLocation
  ) {
    #expect(found == expected, sourceLocation: location)
  }

  private static func completed(_ key: String, _ calls: Int, by task: Int = 0) -> DurableEvent {
    .completed(key, by: .init(task: task, calls: calls), number: calls, value: [], isUndoable: true)
  }

  // G182, G183
  @Test func `Stored ends are delivered in their order, and what is new begins after them`() {
    for seed: UInt64 in 0..<500 {
      var random = SeededGenerator(seed: seed)
      let steps = (1...Int.random(in: 1...12, using: &random)).map { "s\($0)" }
      let ends = steps.shuffled(using: &random)
      let began = steps.enumerated().filter { _ in Bool.random(using: &random) }
      let events =
        began.map { DurableEvent.began($0.element, by: .init(task: 0, calls: $0.offset + 1)) }
        + ends.map { end in Self.completed(end, (steps.firstIndex(of: end) ?? 0) + 1) }
      var code = Code(events)
      // Called and back in any order, with others that are new.
      for step in (steps + ["new 1", "new 2"]).shuffled(using: &random) {
        let answer = code.call(step, isOwned: false)
        #expect(answer == (step.hasPrefix("new") ? .later : .stored))
      }
      for step in steps.shuffled(using: &random) {
        // What comes next is not there yet, and nothing else is delivered instead.
        if code.received.count < 3, Bool.random(using: &random) { _ = code.next() }
        code.wait(for: step)
      }
      while code.next() != "rest" {}
      let delivered = code.received.filter { $0 != "work" }
      #expect(delivered.dropLast(2) == ends.map { "resume \($0)" }[...], "\(seed)")
      #expect(delivered.dropLast().last.map { Set($0.split(separator: " ")) } == ["begin", "new", "1", "2"], "\(seed)")
      #expect(!code.order.isReplaying)
    }
  }

  // G194
  @Test func `Another step in the place of a stored one is found when all code waits`() {
    for seed: UInt64 in 0..<500 {
      var random = SeededGenerator(seed: seed)
      let count = Int.random(in: 1...8, using: &random)
      var code = Code((1...count).map { Self.completed("s\($0)", $0) })
      let changed = Int.random(in: 1...count, using: &random)
      for number in 1..<changed {
        expect(code.call("s\(number)"), .stored)
        code.wait(for: "s\(number)")
        expect(code.next(), "resume s\(number)")
      }
      // Inserted, renamed, or swapped with the one behind it.
      let found = number(of: count, after: changed, &random).map { "s\($0)" } ?? "other"
      _ = code.call(found)
      expect(code.next(), "differ s\(changed) \(found)")
    }
  }

  private func number(of count: Int, after number: Int, _ random: inout SeededGenerator) -> Int? {
    Bool.random(using: &random) && number < count ? Int.random(in: number + 1...count, using: &random) : nil
  }

  // G183
  @Test func `A step that a child task does not call any more is found, also if the others go on`() {
    for removed in 1...3 {
      var code = Code((1...3).map { Self.completed("s\($0)", 3, by: $0) })
      for (task, number) in [1, 2, 3].filter({ $0 != removed }).enumerated() {
        expect(code.call("s\(number)", by: task + 1, isOwned: false), .stored)
        code.wait(for: "s\(number)")
      }
      var last = code.next()
      while last.hasPrefix("resume") { last = code.next() }
      // Of the last one, nothing shows that it is missing.
      #expect(last == (removed < 3 ? "differ s\(removed) s\(removed + 1)" : "wait s3"))
    }
  }

  @Test func `Child tasks may call stored steps in another order`() {
    var code = Code([Self.completed("a", 1, by: 1), Self.completed("b", 2, by: 2)])
    expect(code.call("b", by: 2, isOwned: false), .stored)
    code.wait(for: "b")
    expect(code.next(), "wait a")
    expect(code.call("a", by: 1, isOwned: false), .stored)
    code.wait(for: "a")
    expect(code.next(), "resume a")
    expect(code.next(), "resume b")
  }

  // G197
  @Test func `Each task that was elsewhere goes on where it did before`() {
    var code = Code([
      Self.completed("a", 2, by: 1), .returned(task: 2), .returned(task: 1), Self.completed("b", 2, by: 2),
    ])
    _ = code.call("a", by: 1)
    expect(code.holds(2), true)
    // Too early.
    expect(code.next(held: [1]), "work")
    code.wait(for: "a")
    expect(code.next(held: [1]), "resume a")
    // One that has not left this time waits where it calls for something.
    expect(code.next(held: [1]), "resume task 2")
    expect(code.holds(2), false)
    expect(code.next(held: []), "wait")
    expect(code.next(held: [3, 1]), "admit 1")
    _ = code.call("b", by: 2)
    code.wait(for: "b")
    expect(code.next(held: [3]), "resume b")
    expect(code.next(held: [3]), "admit new 3")
  }

  // G197
  @Test func `A task that leaves where it had not left before goes on at once, also if it leaves again later`() {
    var code = Code([
      Self.completed("a", 1), Self.completed("b", 2), .returned(task: 0), Self.completed("c", 3),
    ])
    for step in ["a", "b", "c"] {
      if step == "c" { expect(code.next(held: [0]), "admit 0") }
      expect(code.call(step), .stored)
      code.wait(for: step)
      expect(code.next(), "resume \(step)")
      if step == "a" { expect(code.next(held: [0]), "admit 0") }
    }
  }

  @Test func `A wait that the code has left is not delivered`() {
    var code = Code([.waited("limit", task: 1), Self.completed("a", 1)])
    expect(code.call("limit", by: 1, deadline: 5), .stored)
    _ = code.call("a")
    code.wait(for: "a")
    expect(code.order.leave("limit"), true)
    expect(code.next(), "resume a")
    expect(code.next(), "rest")
    expect(code.order.leave("limit"), false)
  }

  @Test func `Waits whose time was over end first after the replay, each in its turn`() {
    var code = Code([Self.completed("a", 1)])
    for (key, deadline) in [("late", 7), ("early", 3), ("future", 99)] {
      expect(code.call(key, deadline: deadline), .later)
    }
    expect(code.call("a"), .stored)
    expect(code.call("new"), .later)
    code.wait(for: "a")
    expect(code.next(now: 10), "resume a")
    for key in ["early", "late"] {
      expect(code.next(now: 10), "expire \(key)")
      code.order.end(key)
      expect(code.next(now: 10), "resume \(key)")
    }
    expect(code.next(now: 10), "begin future new")
    expect(code.next(now: 10), "rest")
  }

  @Test func `A cancellation is delivered when it is stored, and lets no first step begin`() {
    var code = Code([])
    code.order.cancel(reason: "left", after: 3)
    expect(code.call("a"), .later)
    expect(code.next(stored: 2), "rest")
    expect(code.next(stored: 3), "interrupt left")
    expect(code.next(stored: 3), "begin a")
  }

  @Test func `What another run keeps from its place is delivered when it is there`() {
    var code = Code([
      .waited("gate", task: 1), .returned(task: 2), Self.completed("a", 1), Self.completed("b", 2, by: 2),
    ])
    expect(code.call("gate", deadline: nil, isOwned: nil), .stored)
    expect(code.call("a", isOwned: false), .stored)
    code.wait(for: "a")
    expect(code.holds(2), true)
    expect(code.next(), "work")
    expect(code.order.skip(), nil)
    expect(code.next(), "resume task 2")
    expect(code.next(), "resume a")
    expect(code.call("b", by: 2, isOwned: false), .stored)
    code.wait(for: "b")
    code.wait(for: "gate")
    expect(code.next(), "resume b")
    expect(code.next(), "resume gate")
  }
}

extension DurableDeliveryTests {
  // G182
  @Test func `What follows a gate that another run occupies is no different code`() {
    var code = Code([.waited("gate", task: 1), Self.completed("a", 1), Self.completed("b", 2, by: 1)])
    expect(code.call("gate", deadline: nil, isOwned: nil), .stored)
    expect(code.call("a", isOwned: false), .stored)
    code.wait(for: "a")
    expect(code.next(), "work")
    expect(code.order.skip(), nil)
    expect(code.next(), "resume a")
    expect(code.call("c", isOwned: false), .later)
    expect(code.next(), "begin c")
    code.wait(for: "gate")
    expect(code.next(), "resume gate")
    expect(code.call("b", by: 1, isOwned: false), .stored)
    code.wait(for: "b")
    expect(code.next(), "resume b")
  }
}

extension DurableDeliveryTests.Code {
  fileprivate mutating func call(_ key: String, deadline: Int?, isOwned: Bool?) -> DurableOrder.Answer {
    order.call(key, by: 0, Once(), step: isOwned, mayBeLeft: true, deadline: deadline)
  }
}
