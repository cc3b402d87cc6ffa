// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The machine behind a production line, with work, products and waiters that are numbers.
@Suite(.timeLimit(.minutes(5)))
struct LineMachineTests {
  private typealias Machine = LineMachine<Int, Int, Int>

  private func machine(maxConcurrent: Int, work: Range<Int>, starting: [Int]) -> Machine {
    var machine = Machine(maxConcurrent: maxConcurrent)
    let started = work.map { machine.add($0) }
    #expect(started.compactMap(\.self).flatMap(\.self) == starting && !started.contains(nil))
    return machine
  }

  @Test func `Work begins in order as long as there is room`() {
    var machine = machine(maxConcurrent: 2, work: 0..<4, starting: [0, 1])
    let further = machine.resume()
    #expect(further.isEmpty)
    let (next, wake) = machine.finishWork(with: 0)
    #expect(next == 2 && wake == nil)
  }

  @Test(arguments: [Int.min, -1, 0, 1]) func `A limit below one counts as one`(maxConcurrent: Int) {
    _ = machine(maxConcurrent: maxConcurrent, work: 0..<2, starting: [0])
  }

  @Test func `A full buffer ends the worker until a result is taken`() {
    var machine = machine(maxConcurrent: 1, work: 0..<2, starting: [0])
    let (next, _) = machine.finishWork(with: 0)
    let further = machine.resume()
    #expect(next == nil && further.isEmpty)
    guard case .product(0, start: 1) = machine.take(waiter: 5) else {
      Issue.record("no product, or the work did not start")
      return
    }
  }

  @Test func `A taken result starts a worker, which starts the next`() {
    var machine = machine(maxConcurrent: 2, work: 0..<5, starting: [0, 1])
    #expect(machine.finishWork(with: 0).next == 2)
    #expect(machine.finishWork(with: 1).next == nil)
    #expect(machine.finishWork(with: 2).next == nil)
    guard case .product(0, start: nil) = machine.take(waiter: 5),
      case .product(1, start: 3) = machine.take(waiter: 5),
      case .product(2, start: nil) = machine.take(waiter: 5)
    else {
      Issue.record("none was started, or two")
      return
    }
    let next = machine.beginWorker()
    #expect(next == 4)
    let further = machine.beginWorker()
    #expect(further == nil)
  }

  @Test func `A suspended line starts nothing`() {
    var machine = machine(maxConcurrent: 1, work: 0..<3, starting: [0])
    machine.suspend()
    #expect(machine.finishWork(with: 0).next == nil)
    guard case .product(0, start: nil) = machine.take(waiter: 5) else {
      Issue.record("no product, or something was started")
      return
    }
    let further = machine.resume()
    #expect(further == [1])
  }

  @Test func `A waiter is woken by the last result and by the end`() {
    var machine = machine(maxConcurrent: 1, work: 0..<1, starting: [0])
    let woken = machine.finish()
    #expect(woken == nil)
    guard case .wait(5) = machine.take(waiter: 5), case (nil, 5) = machine.finishWork(with: 0),
      case .product(0, start: _) = machine.take(waiter: 6), case .end = machine.take(waiter: 6)
    else {
      Issue.record("not woken")
      return
    }
    let added = machine.add(1)
    #expect(added == nil)
  }

  @Test func `Dropping the last work of a finished line wakes its waiters`() {
    var machine = Machine(maxConcurrent: 1)
    machine.suspend()
    _ = machine.add(0)
    _ = machine.finish()
    guard case .wait(5) = machine.take(waiter: 5) else {
      Issue.record("did not wait")
      return
    }
    let cleared = machine.clearPending()
    #expect(cleared.dropped == [0] && cleared.wake == 5)
  }

  @Test func `Consumers that wait at one time are woken together`() {
    var machine = machine(maxConcurrent: 1, work: 0..<1, starting: [0])
    guard case .wait(5) = machine.take(waiter: 5), case .wait(5) = machine.take(waiter: 6) else {
      Issue.record("they wait apart")
      return
    }
    guard case (nil, 5) = machine.finishWork(with: 0), case .product(0, start: _) = machine.take(waiter: 6),
      case .wait(6) = machine.take(waiter: 6)
    else {
      Issue.record("a waiter that was woken is used again")
      return
    }
  }

  /// Random orders of events against the guarantees: order, limits, nothing twice, nothing lost, no waiter left behind.
  @Test(arguments: seeds()) func `Every order of events keeps the promises`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var line = SimulatedLine(maxConcurrent: Int.random(in: 1...3, using: &generator))
    for _ in 0..<60 { line.event(Int.random(in: 0..<10, using: &generator), using: &generator) }
    line.wrapUp()
  }
}

/// A line whose workers and consumer the test controls.
private struct SimulatedLine: ~Copyable {
  private let maxConcurrent: Int
  private var machine: LineMachine<Int, Int, Int>
  private var nextWork = 0
  private var running: [Int] = []
  /// How many workers were started that have not arrived.
  private var starting = 0
  private var begun: [Int] = []
  private var dropped: [Int] = []
  private var finished: [Int] = []
  private var taken: [Int] = []
  private var isSuspended = false
  private var isFinished = false
  /// What the consumer waits for.
  private var waiter: Int?
  private var nextWaiter = 0

  init(maxConcurrent: Int) {
    self.maxConcurrent = maxConcurrent
    machine = LineMachine(maxConcurrent: maxConcurrent)
  }

  mutating func event(_ number: Int, using generator: inout SeededGenerator) {
    switch number {
    case 0...2: add()
    case 3...4: finishWork(at: running.indices.randomElement(using: &generator))
    case 5: take()
    case 6: machine.suspend(); isSuspended = true
    case 7: resume()
    case 8: arrive()
    default: clear()
    }
    #expect(isSuspended || !hasRoom || starting > 0 || begun.count + dropped.count == nextWork, "work could start")
  }

  private var hasRoom: Bool { running.count < maxConcurrent && finished.count - taken.count < maxConcurrent }

  /// Lets everything come to its end.
  mutating func wrapUp() {
    resume()
    isFinished = true
    wake(machine.finish())
    for _ in 0..<200 where starting > 0 || waiter != nil || !running.isEmpty || taken.count < finished.count {
      arrive()
      finishWork(at: running.indices.first)
      take()
    }
    #expect(waiter == nil && running.isEmpty)
    #expect(taken == finished)
    #expect((begun + dropped).sorted() == Array(0..<nextWork))
    #expect(finished.sorted() == begun)
    if case .end = machine.take(waiter: 0) { return }
    Issue.record("not ended")
  }

  private mutating func add() {
    let starting = machine.add(nextWork)
    #expect((starting == nil) == isFinished)
    nextWork += 1
    begin(starting ?? [], byWorkers: true)
  }

  private mutating func finishWork(at index: Int?) {
    guard let index else { return }
    let work = running.remove(at: index)
    finished.append(work)
    let action = machine.finishWork(with: work)
    wake(action.wake)
    if let next = action.next { begin([next]) }
  }

  private mutating func arrive() {
    guard starting > 0 else { return }
    starting -= 1
    begin(machine.beginWorker().map { [$0] } ?? [], byWorkers: true)
  }

  private mutating func take() {
    guard waiter == nil else { return }
    nextWaiter += 1
    switch machine.take(waiter: nextWaiter) {
    case .product(let product, let starting):
      taken.append(product)
      begin(starting.map { [$0] } ?? [], byWorkers: true)
    case .wait(let waiter):
      #expect(waiter == nextWaiter, "it was woken before")
      self.waiter = waiter
    case .end: #expect(isFinished)
    }
  }

  private mutating func resume() {
    isSuspended = false
    begin(machine.resume(), byWorkers: true)
  }

  private mutating func clear() {
    let action = machine.clearPending()
    dropped += action.dropped
    wake(action.wake)
  }

  /// Work begins, by new workers or by one that has run other work.
  private mutating func begin(_ work: [Int], byWorkers isNew: Bool = false) {
    if isNew { starting += work.count }
    for work in work {
      #expect(!isSuspended)
      #expect(hasRoom)
      #expect(begun.last.map { $0 < work } ?? true)
      begun.append(work)
      running.append(work)
    }
  }

  private mutating func wake(_ woken: Int?) {
    guard let woken else { return }
    #expect(woken == waiter)
    waiter = nil
  }
}
