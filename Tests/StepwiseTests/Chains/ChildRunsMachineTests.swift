// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The machine behind chains that are one step, with runs that are numbers.
@Suite(.timeLimit(.minutes(5)))
struct ChildRunsMachineTests {
  private typealias Machine = ChildRunsMachine<Int>

  private func begun(_ count: Int, _ rule: Machine.Rule) -> Machine {
    var machine = Machine(count: count, rule: rule)
    for place in 0..<count { machine.begin(place * 10, at: place) }
    return machine
  }

  @Test func ofAllTheLastValueEndsTheStep() {
    var machine = begun(3, .all)
    #expect(machine.firstRunning == 0)
    #expect(machine.end(at: 0, hasValue: true) == .none)
    #expect(machine.firstRunning == 10)
    #expect(machine.end(at: 2, hasValue: true) == .none)
    #expect(machine.decider == nil)
    #expect(machine.end(at: 1, hasValue: true) == .step)
    #expect(machine.decider == 1)
    #expect(machine.firstRunning == nil)
  }

  @Test func ofAllTheFirstErrorEndsTheStep() {
    var machine = begun(3, .all)
    #expect(machine.end(at: 0, hasValue: true) == .none)
    #expect(machine.end(at: 2, hasValue: false) == .step)
    #expect(machine.end(at: 1, hasValue: false) == .none)
    #expect(machine.decider == 2)
  }

  @Test func ofAnyTheFirstValueEndsTheStep() {
    var machine = begun(3, .any)
    #expect(machine.end(at: 0, hasValue: false) == .none)
    #expect(machine.end(at: 1, hasValue: true) == .step)
    #expect(machine.end(at: 2, hasValue: true) == .none)
    #expect(machine.decider == 1)
  }

  @Test func ofAnyTheLastErrorEndsTheStep() {
    var machine = begun(2, .any)
    #expect(machine.end(at: 1, hasValue: false) == .none)
    #expect(machine.end(at: 0, hasValue: false) == .step)
  }

  @Test func oneEndsOnce() {
    var machine = begun(2, .all)
    #expect(machine.end(at: 0, hasValue: true) == .none)
    #expect(machine.end(at: 0, hasValue: true) == .none)
    #expect(machine.end(at: 1, hasValue: true) == .step)
    #expect(machine.end(at: 1, hasValue: false) == .none)
  }

  /// A run that was refused before it started leaves the decision to the others, if any.
  @Test func oneThatNeverBeganDecidesNothing() {
    var machine = Machine(count: 2, rule: .any)
    machine.begin(1, at: 1)
    #expect(machine.end(at: 0, hasValue: false) == .none)
    #expect(machine.end(at: 1, hasValue: false) == .none)
    #expect(machine.decider == nil)
  }

  @Test func forEverySeedOneEndsTheStepAsTheRuleSays() throws {
    for seed in seeds() {
      var generator = SeededGenerator(seed: seed)
      let count = Int.random(in: 1..<6, using: &generator)
      let rule: Machine.Rule = Bool.random(using: &generator) ? .all : .any
      var machine = begun(count, rule)
      let values = (0..<count).map { _ in Bool.random(using: &generator) }
      let order = Array(0..<count).shuffled(using: &generator)
      let deciding = order.firstIndex { values[$0] == (rule == .any) } ?? count - 1
      for (turn, place) in order.enumerated() {
        let ending = machine.end(at: place, hasValue: values[place])
        try #require((ending == .step) == (turn == deciding), "seed \(seed): \(place) is \(ending)")
        try #require(machine.decider == (turn < deciding ? nil : order[deciding]), "seed \(seed)")
      }
      try #require(machine.firstRunning == nil)
    }
  }
}
