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
    guard case .wait(1, let work?) = machine.request(consumer, waiter: 1) else {
      Issue.record("not begun")
      return
    }
    #expect(machine.isInProgress(work))
    let end = machine.end(.success(1), isLast: false)
    #expect(end.wake == 1)
    #expect(end.releasing == 0)
    #expect(!machine.isInProgress(work))
  }

  @Test func `With every stage, every consumer requests the next`() {
    var machine = Machine(first: 0, sharing: .everyStage)
    let (fast, slow) = (machine.join(), machine.join())
    _ = machine.request(fast, waiter: 1)
    guard case .wait(1, nil) = machine.request(fast, waiter: 1) else {
      Issue.record("begun without the slow one")
      return
    }
    // When the one that held it up goes, the run begins.
    #expect(machine.leave(slow).work != nil, "not begun")
  }

  @Test(arguments: [false, true])
  func `The last consumer to leave stops the run`(isWorking: Bool) {
    var machine = Machine(first: 0, sharing: .latest)
    let consumer = machine.join()
    _ = machine.request(consumer, waiter: 1)
    _ = machine.request(consumer, waiter: 1)
    if !isWorking { _ = machine.end(.success(1), isLast: false) }
    #expect(machine.leave(consumer).isAbandoned, "not stopped")
    // The work that was cancelled ends too late.
    #expect(machine.end(.success(2), isLast: false).releasing == nil)
    let late = machine.join()
    guard case .stage(isWorking ? 0 : 1) = machine.request(late, waiter: 2),
      case .end(.abandoned) = machine.request(late, waiter: 2)
    else {
      Issue.record("the late one received something else")
      return
    }
  }

  @Test func `A consumer that leaves before the start ends nothing`() {
    var machine = Machine(first: 0, sharing: .latest)
    #expect(machine.leave(machine.join()) == (nil, false), "ended")
    let consumer = machine.join()
    _ = machine.request(consumer, waiter: 1)
    guard case .wait(1, _?) = machine.request(consumer, waiter: 1) else {
      Issue.record("not begun")
      return
    }
  }

  @Test func `A failure follows the newest stage`() {
    var machine = Machine(first: 0, sharing: .latest)
    let (fast, slow) = (machine.join(), machine.join())
    _ = machine.request(fast, waiter: 1)
    _ = machine.request(fast, waiter: 1)
    #expect(machine.end(.failure(Broken(description: "")), isLast: false).wake == 1)
    guard case .end(.failed) = machine.request(fast, waiter: 1), case .stage(0) = machine.request(slow, waiter: 2),
      case .end(.failed) = machine.request(slow, waiter: 2)
    else {
      Issue.record("a stage is missing or repeated")
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

/// Consumers and the work of stages that do one thing at a time, in an order that a seed chooses.
private struct SharingModel {
  private struct Consumer {
    let id: SharingMachine<Int, Int>.ConsumerID
    var taken: [Int] = []
    var isWaiting = false
  }

  private let sharing: StageSharing
  private let seed: UInt64
  private var random: SeededGenerator
  private var machine: SharingMachine<Int, Int>
  private var consumers: [Consumer] = []
  private var isWorking = false
  private var newest = 0
  private var requestCount = 0
  /// What the consumers that wait for the next stage wait for.
  private var waiter: Int?

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
    default: try endWork()
    }
  }

  private mutating func leave(_ index: Int) throws {
    let (work, isAbandoned) = machine.leave(consumers.remove(at: index).id)
    try require(!isAbandoned, "seed \(seed): cancelled beside \(consumers.count) consumers")
    try begin(work)
  }

  private mutating func begin(_ work: Int?) throws {
    guard let work else { return }
    let waiting = consumers.filter(\.isWaiting).count
    let isWanted = sharing.isPaced ? waiting == consumers.count : waiting > 0
    try require(isWanted, "seed \(seed): unasked, \(waiting) of \(consumers.count)")
    try require(!isWorking && machine.newest == newest, "seed \(seed): begins \(work) at \(newest)")
    isWorking = true
  }

  private mutating func ask(_ index: Int) throws {
    requestCount += 1
    switch machine.request(consumers[index].id, waiter: requestCount) {
    case .stage(let stage):
      try require(stage == newest, "seed \(seed): \(stage) instead of \(newest)")
      if let last = consumers[index].taken.last {
        let isNext = sharing.isPaced ? stage == last + 1 : stage > last
        try require(isNext, "seed \(seed): \(stage) after \(last)")
      }
      consumers[index].taken.append(stage)
    case .wait(let waiter, let work):
      try require(waiter == self.waiter ?? requestCount, "seed \(seed): \(waiter) was woken before")
      self.waiter = waiter
      consumers[index].isWaiting = true
      try begin(work)
    case .end: throw Broken(description: "seed \(seed): ended")
    }
  }

  private mutating func endWork() throws {
    guard isWorking else { return }
    isWorking = false
    newest += 1
    let end = machine.end(.success(newest), isLast: false)
    try require(end.releasing == newest - 1, "seed \(seed): stage \(newest) is discarded")
    try require(end.wake == waiter, "seed \(seed): waits for \(waiter as Any), not \(end.wake as Any)")
    waiter = nil
    for index in consumers.indices { consumers[index].isWaiting = false }
  }

  /// From anywhere, asking and producing go on: nothing is stuck.
  mutating func finish() throws {
    if consumers.isEmpty { consumers.append(Consumer(id: machine.join())) }
    let goal = newest + 3
    for _ in 0..<100 where newest < goal {
      for index in consumers.indices where !consumers[index].isWaiting { try ask(index) }
      try endWork()
    }
    try require(newest >= goal, "seed \(seed): stuck at \(newest)")
  }
}
