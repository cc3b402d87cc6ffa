// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The machine behind shared stages, with waiters that are numbers.
@Suite(.timeLimit(.minutes(5)))
struct SharingMachineTests {
  private typealias Machine = SharingMachine<Int, Int>

  @Test func `A run begins when the first consumer asks for more`() {
    var machine = Machine(first: 0, sharing: .latest)
    let consumer = machine.join()
    guard case .stage(0) = machine.request(consumer, waiter: 1) else {
      Issue.record("no first stage")
      return
    }
    guard case .wait(1, .start) = machine.request(consumer, waiter: 1) else {
      Issue.record("not begun")
      return
    }
    #expect(machine.produce(waiter: 9) == .produce)
    guard case .wake([1], releasing: 0) = machine.reach(1) else {
      Issue.record("not woken")
      return
    }
  }

  @Test func `With every stage, all consumers must have asked`() {
    var machine = Machine(first: 0, sharing: .everyStage)
    let (fast, slow) = (machine.join(), machine.join())
    _ = machine.request(fast, waiter: 1)
    guard case .wait(1, .none) = machine.request(fast, waiter: 1) else {
      Issue.record("begun without the slow one")
      return
    }
    // When the one that held it up goes, the run begins.
    guard case .proceed(.start) = machine.leave(slow) else {
      Issue.record("not begun")
      return
    }
  }

  @Test func `The last consumer to leave stops the run`() {
    var machine = Machine(first: 0, sharing: .latest)
    let consumer = machine.join()
    _ = machine.request(consumer, waiter: 1)
    _ = machine.request(consumer, waiter: 1)
    #expect(machine.produce(waiter: 9) == .produce)
    _ = machine.reach(1)
    #expect(machine.produce(waiter: 9) == .wait)
    guard case .cancel(9) = machine.leave(consumer) else {
      Issue.record("not stopped")
      return
    }
    #expect(machine.produce(waiter: 9) == .stop)
    let late = machine.join()
    guard case .stage(1) = machine.request(late, waiter: 2),
      case .end(.abandoned) = machine.request(late, waiter: 2)
    else {
      Issue.record("the late one received something else")
      return
    }
  }

  @Test func `A consumer that leaves before the start ends nothing`() {
    var machine = Machine(first: 0, sharing: .latest)
    guard case .proceed(.none) = machine.leave(machine.join()) else {
      Issue.record("ended")
      return
    }
    let consumer = machine.join()
    _ = machine.request(consumer, waiter: 1)
    guard case .wait(1, .start) = machine.request(consumer, waiter: 1) else {
      Issue.record("not begun")
      return
    }
  }

  @Test func `A consumer that has left receives nothing`() {
    var machine = Machine(first: 0, sharing: .everyStage)
    let (left, other) = (machine.join(), machine.join())
    _ = machine.leave(left)
    guard case .end(.abandoned) = machine.request(left, waiter: 1), case .stage(0) = machine.request(other, waiter: 2),
      case .wait(2, .start) = machine.request(other, waiter: 2)
    else {
      Issue.record("the one that left still counts")
      return
    }
  }

  /// Random orders of events against the guarantees: no consumer misses or repeats a stage, no stage runs unrequested,
  /// and every waiter is woken.
  @Test(arguments: [StageSharing.everyStage, .latest])
  func `Every order of events keeps the promises`(sharing: StageSharing) throws {
    for seed in 0..<2_000 as Range<UInt64> {
      var model = SharingModel(sharing: sharing, seed: seed)
      for _ in 0..<200 { try model.step() }
      try model.finish()
    }
  }
}

/// Consumers and a producer that do one thing at a time, in an order that a seed chooses.
private struct SharingModel {
  private struct Consumer {
    let id: SharingMachine<Int, Int>.ConsumerID
    var taken: [Int] = []
    var isWaiting = false
  }

  private enum Producer {
    case absent, ready, working, waiting
  }

  private let sharing: StageSharing
  private let seed: UInt64
  private var random: SeededGenerator
  private var machine: SharingMachine<Int, Int>
  private var consumers: [Consumer] = []
  private var producer = Producer.absent
  private var newest = 0
  private let producerWaiter = -1

  init(sharing: StageSharing, seed: UInt64) {
    self.sharing = sharing
    self.seed = seed
    random = SeededGenerator(seed: seed)
    machine = SharingMachine(first: 0, sharing: sharing)
  }

  mutating func step() throws {
    switch Int.random(in: 0..<10, using: &random) {
    case 0 where consumers.count < 4:
      consumers.append(Consumer(id: machine.join()))
    case 1 where consumers.count > 1:
      try leave(Int.random(in: consumers.indices, using: &random))
    case 2...6:
      guard let index = consumers.indices.filter({ !consumers[$0].isWaiting }).randomElement(using: &random) else {
        return
      }
      try ask(index)
    default: try produce()
    }
  }

  private mutating func leave(_ index: Int) throws {
    switch machine.leave(consumers.remove(at: index).id) {
    case .proceed(let demand): try meet(demand)
    case .cancel: throw Broken(description: "seed \(seed): cancelled beside \(consumers.count) consumers")
    }
  }

  private mutating func meet(_ demand: SharingMachine<Int, Int>.Demand) throws {
    switch demand {
    case .none: break
    case .start:
      try require(producer == .absent, "seed \(seed): a second producer")
      producer = .ready
    case .wake(let waiter):
      try require(producer == .waiting && waiter == producerWaiter, "seed \(seed): \(producer) is woken")
      producer = .ready
    }
  }

  private mutating func ask(_ index: Int) throws {
    switch machine.request(consumers[index].id, waiter: index) {
    case .stage(let stage):
      try require(stage == newest, "seed \(seed): \(stage) instead of \(newest)")
      if let last = consumers[index].taken.last {
        let isNext = sharing.kind == .everyStage ? stage == last + 1 : stage > last
        try require(isNext, "seed \(seed): \(stage) after \(last)")
      }
      consumers[index].taken.append(stage)
    case .wait(_, let demand):
      consumers[index].isWaiting = true
      try meet(demand)
    case .end: throw Broken(description: "seed \(seed): ended")
    }
  }

  private mutating func produce() throws {
    switch producer {
    case .ready:
      switch machine.produce(waiter: producerWaiter) {
      case .produce:
        let waiting = consumers.filter(\.isWaiting).count
        let isWanted = sharing.kind == .everyStage ? waiting == consumers.count : waiting > 0
        try require(isWanted, "seed \(seed): unasked, \(waiting) of \(consumers.count)")
        producer = .working
      case .wait: producer = .waiting
      case .stop: throw Broken(description: "seed \(seed): stopped")
      }
    case .working:
      newest += 1
      let count = consumers.filter(\.isWaiting).count
      guard case .wake(let woken, releasing: newest - 1) = machine.reach(newest) else {
        throw Broken(description: "seed \(seed): stage \(newest) is discarded")
      }
      try require(woken.count == count, "seed \(seed): \(woken.count) of \(count) woken")
      for index in consumers.indices { consumers[index].isWaiting = false }
      producer = .ready
    case .absent, .waiting: break
    }
  }

  /// From anywhere, asking and producing go on: nothing is stuck.
  mutating func finish() throws {
    if consumers.isEmpty { consumers.append(Consumer(id: machine.join())) }
    let goal = newest + 3
    for _ in 0..<100 where newest < goal {
      for index in consumers.indices where !consumers[index].isWaiting { try ask(index) }
      try produce()
    }
    try require(newest >= goal, "seed \(seed): stuck at \(newest), producer \(producer)")
  }
}
