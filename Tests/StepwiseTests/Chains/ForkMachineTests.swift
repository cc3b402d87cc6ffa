// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Which of several chains decides the step that they form, with branches that are numbers.
@Suite(.timeLimit(.minutes(5)))
struct ForkMachineTests {
  private typealias Machine = ForkMachine<Int>

  private func begun(_ count: Int, isRace: Bool) -> Machine {
    var machine = Machine(count: count, isRace: isRace)
    for place in 0..<count { _ = machine.begin(place * 10, at: place) }
    return machine
  }

  @Test func `The last value of all branches ends the step`() {
    var machine = begun(3, isRace: false)
    #expect(machine.firstRunning == 0)
    let ended1 = machine.end(at: 0, hasValue: true)
    #expect(!ended1)
    #expect(machine.firstRunning == 10)
    let ended2 = machine.end(at: 2, hasValue: true)
    #expect(!ended2)
    #expect(machine.decider == nil)
    let ended3 = machine.end(at: 1, hasValue: true)
    #expect(ended3)
    #expect(machine.decider == 1)
    #expect(machine.firstRunning == nil)
  }

  @Test func `The first error of all branches ends the step`() {
    var machine = begun(3, isRace: false)
    let ended4 = machine.end(at: 0, hasValue: true)
    #expect(!ended4)
    let ended5 = machine.end(at: 2, hasValue: false)
    #expect(ended5)
    let ended6 = machine.end(at: 1, hasValue: false)
    #expect(!ended6)
    #expect(machine.decider == 2)
  }

  @Test func `The first value of any branch ends the step`() {
    var machine = begun(3, isRace: true)
    let ended7 = machine.end(at: 0, hasValue: false)
    #expect(!ended7)
    let ended8 = machine.end(at: 1, hasValue: true)
    #expect(ended8)
    let ended9 = machine.end(at: 2, hasValue: true)
    #expect(!ended9)
    #expect(machine.decider == 1)
  }

  @Test func `The last error of any branch ends the step`() {
    var machine = begun(2, isRace: true)
    let ended10 = machine.end(at: 1, hasValue: false)
    #expect(!ended10)
    let ended11 = machine.end(at: 0, hasValue: false)
    #expect(ended11)
  }

  @Test func `A single branch ends the step once`() {
    var machine = begun(2, isRace: false)
    let ended12 = machine.end(at: 0, hasValue: true)
    #expect(!ended12)
    let ended13 = machine.end(at: 0, hasValue: true)
    #expect(!ended13)
    let ended14 = machine.end(at: 1, hasValue: true)
    #expect(ended14)
    let ended15 = machine.end(at: 1, hasValue: false)
    #expect(!ended15)
  }

  /// A branch that was refused before it started counts as failed.
  @Test func `A branch that never began ends, too`() {
    var machine = Machine(count: 2, isRace: true)
    _ = machine.begin(1, at: 1)
    let ended16 = machine.end(at: 0, hasValue: false)
    #expect(!ended16)
    let ended17 = machine.end(at: 1, hasValue: false)
    #expect(ended17)
    #expect(machine.decider == 1)
  }

  @Test func `Branches lose when the step is decided, or when they begin afterwards`() {
    var machine = Machine(count: 3, isRace: true)
    for place in 0..<2 { _ = machine.begin(place * 10, at: place) }
    let isDecided = machine.end(at: 1, hasValue: true)
    #expect(isDecided)
    #expect(machine.losers == [0])
    let isLostLate = machine.begin(20, at: 2)
    #expect(isLostLate)
  }

  @Test func `One branch ends the step for every seed`() throws {
    for seed in seeds() {
      var generator = SeededGenerator(seed: seed)
      let count = Int.random(in: 1..<6, using: &generator)
      let isRace = Bool.random(using: &generator)
      var machine = begun(count, isRace: isRace)
      let values = (0..<count).map { _ in Bool.random(using: &generator) }
      let order = Array(0..<count).shuffled(using: &generator)
      let deciding = order.firstIndex { values[$0] == isRace } ?? count - 1
      for (turn, place) in order.enumerated() {
        let ending = machine.end(at: place, hasValue: values[place])
        try #require(ending == (turn == deciding), "seed \(seed): \(place) is \(ending)")
        try #require(machine.decider == (turn < deciding ? nil : order[deciding]), "seed \(seed)")
      }
      try #require(machine.firstRunning == nil)
    }
  }
}
