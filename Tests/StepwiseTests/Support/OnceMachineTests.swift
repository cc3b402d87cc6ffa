// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct OnceMachineTests {
  typealias Machine = OnceMachine<Int, String>

  @Test func `The first value wins`() {
    var machine = Machine()
    #expect(machine.value == nil)
    #expect(machine.settled(1) == [])
    #expect(machine.settled(2) == nil)
    #expect(machine.value == 1)
  }

  @Test func `Every waiter is resumed once`() {
    var machine = Machine()
    for name in ["a", "b", "c"] {
      let position = machine.reserve()
      #expect(machine.wait(name, at: position).isSuspend)
    }
    #expect(machine.settled(1) == ["a", "b", "c"])
    #expect(machine.settled(1) == nil)
  }

  @Test func `A late waiter gets the value immediately`() {
    var machine = Machine()
    let early = machine.reserve()
    _ = machine.settled(7)
    #expect(machine.wait("early", at: early).resumed == 7)
    #expect(machine.wait("late", at: machine.reserve()).resumed == 7)
  }

  @Test func `Nothing is reserved after the value`() {
    var machine = Machine()
    _ = machine.settled(7)
    // A task that finds the value does not wait, and so would never leave its position.
    for _ in 0..<3 { _ = machine.reserve() }
    #expect(!"\(machine)".contains("reserved"))
  }

  @Test func `Early cancellation refuses the waiter`() {
    var machine = Machine()
    let position = machine.reserve()
    #expect(machine.leave(position) == nil)
    #expect(machine.wait("a", at: position).resumed == .some(nil))
    #expect(machine.settled(1) == [])
  }

  @Test func `Late cancellation returns the waiter once`() {
    var machine = Machine()
    let position = machine.reserve()
    _ = machine.wait("a", at: position)
    #expect(machine.leave(position) == "a")
    #expect(machine.leave(position) == nil)
    #expect(machine.settled(1) == [])
  }

  @Test func `Cancellation after the value changes nothing`() {
    var machine = Machine()
    let position = machine.reserve()
    _ = machine.wait("a", at: position)
    #expect(machine.settled(1) == ["a"])
    #expect(machine.leave(position) == nil)
    let cancelledBefore = machine.reserve()
    #expect(machine.leave(cancelledBefore) == nil)
    #expect(machine.wait("b", at: cancelledBefore).resumed == 1, "a value that is there is not thrown away")
  }

  /// Every waiter is resumed exactly once, with what the reference says, in whatever order things happen.
  @Test func `No order of events loses a waiter or resumes it twice`() {
    for seed in seeds(5_000) {
      var generator = SeededGenerator(seed: seed)
      var machine = OnceMachine<Int, Int>()
      var positions: [OnceMachine<Int, Int>.PositionID] = []
      var reference = Reference()
      var resumed: [Int: [Int?]] = [:]
      for step in 0..<Int.random(in: 1...40, using: &generator) {
        let position = reference.known.randomElement(using: &generator)
        switch (Int.random(in: 0..<10, using: &generator), position) {
        case (0, _):
          let reported = machine.settled(step)
          #expect(reported.map(Set.init) == reference.settle(step), "seed \(seed)")
          for waiter in reported ?? [] { resumed[waiter, default: []].append(step) }
        case (1...3, let position?):
          let waiter = machine.leave(positions[position])
          #expect(waiter == reference.leave(position), "seed \(seed)")
          if let waiter { resumed[waiter, default: []].append(nil) }
        case (4...6, let position?) where reference.canWait(position):
          let action = machine.wait(position, at: positions[position])
          #expect(action.resumed == reference.wait(position), "seed \(seed)")
          if let value = action.resumed { resumed[position, default: []].append(value) }
        default:
          reference.known.append(positions.count)
          positions.append(machine.reserve())
        }
        #expect(machine.value == reference.value, "seed \(seed)")
      }
      for position in reference.known where reference.canWait(position) {
        if let value = machine.wait(position, at: positions[position]).resumed {
          resumed[position, default: []].append(value)
        }
      }
      for waiter in machine.settled(-1) ?? [] { resumed[waiter, default: []].append(-1) }
      #expect(resumed.keys.sorted() == reference.known.sorted(), "seed \(seed)")
      #expect(resumed.values.allSatisfy { $0.count == 1 }, "seed \(seed)")
    }
  }

  /// The same, naively: waiters are called by the numbers of their positions.
  private struct Reference {
    var value: Int?
    var known: [Int] = []
    var waited: Set<Int> = []
    var left: Set<Int> = []
    var suspended: Set<Int> = []

    func canWait(_ position: Int) -> Bool { !waited.contains(position) }

    mutating func settle(_ new: Int) -> Set<Int>? {
      guard value == nil else { return nil }
      value = new
      defer { suspended = [] }
      return suspended
    }

    mutating func leave(_ position: Int) -> Int? {
      if value == nil { left.insert(position) }
      return suspended.remove(position)
    }

    mutating func wait(_ position: Int) -> Int?? {
      waited.insert(position)
      if let value { return .some(value) }
      if left.contains(position) { return .some(nil) }
      suspended.insert(position)
      return .none
    }
  }
}

extension OnceMachine {
  fileprivate mutating func settled(_ value: Value) -> [Waiter]? {
    settle(value).map { ($0.first.map { [$0] } ?? []) + $0.others }
  }
}

extension OnceMachine.WaitAction {
  fileprivate var isSuspend: Bool {
    if case .suspend = self { true } else { false }
  }

  fileprivate var resumed: Value?? {
    if case .resume(let value) = self { .some(value) } else { .none }
  }
}
