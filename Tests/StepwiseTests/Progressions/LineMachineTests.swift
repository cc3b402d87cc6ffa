// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The machine behind a production line, with work, products, waiters and workers that are numbers.
@Suite(.timeLimit(.minutes(5)))
struct LineMachineTests {
  private typealias Machine = LineMachine<Int, Int, Int, Int>

  private func machine(maxConcurrent: Int, work: Range<Int>, starting: [Int]) -> Machine {
    var machine = Machine(maxConcurrent: maxConcurrent)
    var started: [Int] = []
    for work in work {
      switch machine.add(work) {
      case .start(.new(let work)): started.append(work)
      case .start(.wake), .refuse: Issue.record("not added")
      case .keep: break
      }
    }
    #expect(started == starting)
    return machine
  }

  @Test func `Work begins in order as long as there is room`() {
    var machine = machine(maxConcurrent: 2, work: 0..<4, starting: [0, 1])
    let further = machine.resume()
    #expect(further.isEmpty)
    guard case .work(2, start: _, dismiss: []) = machine.finishWork(with: 0).next else {
      Issue.record("the worker did not go on")
      return
    }
  }

  @Test(arguments: [Int.min, -1, 0, 1]) func `A limit below one counts as one`(maxConcurrent: Int) {
    _ = machine(maxConcurrent: maxConcurrent, work: 0..<2, starting: [0])
  }

  @Test func `A full buffer parks the worker until a result is taken`() {
    var machine = machine(maxConcurrent: 1, work: 0..<2, starting: [0])
    guard case .park = machine.finishWork(with: 0).next, machine.park(7) else {
      Issue.record("not parked")
      return
    }
    let further = machine.resume()
    #expect(further.isEmpty)
    guard case .product(0, start: .wake(7)?) = machine.take(waiter: 5),
      case .work(1, start: _, dismiss: _) = machine.arrive()
    else {
      Issue.record("no product, or the worker did not start")
      return
    }
  }

  @Test func `One parked worker is woken at a time and wakes the next`() {
    var machine = machine(maxConcurrent: 2, work: 0..<5, starting: [0, 1])
    guard case .work(2, start: _, dismiss: _) = machine.finishWork(with: 0).next,
      case .park = machine.finishWork(with: 1).next, case .park = machine.finishWork(with: 2).next,
      machine.park(7), machine.park(8)
    else {
      Issue.record("not parked")
      return
    }
    guard case .product(0, start: nil) = machine.take(waiter: 5),
      case .product(1, start: .wake(8)?) = machine.take(waiter: 5),
      case .product(2, start: nil) = machine.take(waiter: 5)
    else {
      Issue.record("none was woken, or two")
      return
    }
    guard case .work(3, start: let starts, dismiss: _) = machine.arrive(), starts.count == 1,
      case .wake(7) = starts[0]
    else {
      Issue.record("did not wake the next")
      return
    }
  }

  @Test func `A worker that is woken too late parks again`() {
    var machine = machine(maxConcurrent: 1, work: 0..<3, starting: [0])
    _ = machine.finishWork(with: 0)
    _ = machine.park(7)
    guard case .product(0, start: .wake(7)?) = machine.take(waiter: 5) else {
      Issue.record("not woken")
      return
    }
    machine.suspend()
    guard case .park = machine.arrive(), machine.park(7) else {
      Issue.record("did not park")
      return
    }
    let starts = machine.resume()
    guard starts.count == 1, case .wake(7) = starts[0] else {
      Issue.record("not woken again")
      return
    }
  }

  @Test func `A worker that parks after its work was started leaves`() {
    var machine = machine(maxConcurrent: 1, work: 0..<2, starting: [0])
    guard case .park = machine.finishWork(with: 0).next, case .product(0, start: .new(1)?) = machine.take(waiter: 5),
      !machine.park(7)
    else {
      Issue.record("did not leave")
      return
    }
  }

  @Test func `A worker that parks after its work was dropped leaves`() {
    var machine = machine(maxConcurrent: 1, work: 0..<2, starting: [0])
    guard case .park = machine.finishWork(with: 0).next else {
      Issue.record("did not receive park")
      return
    }
    let cleared = machine.clearPending()
    #expect(cleared.dropped == [1])
    guard !machine.park(7) else {
      Issue.record("still parked")
      return
    }
  }

  @Test func `Parked workers are dismissed when nothing is left`() {
    var machine = machine(maxConcurrent: 1, work: 0..<2, starting: [0])
    _ = machine.finishWork(with: 0)
    _ = machine.park(7)
    let cleared = machine.clearPending()
    #expect(cleared.dropped == [1] && cleared.dismiss == [7])
    let again = machine.clearPending()
    #expect(again.dropped.isEmpty && again.dismiss.isEmpty)
  }

  @Test
  func `A parked worker ends when another one takes the last work`() {
    var machine = machine(maxConcurrent: 2, work: 0..<4, starting: [0, 1])
    guard case .work(2, start: _, dismiss: []) = machine.finishWork(with: 0).next,
      case .park = machine.finishWork(with: 1).next, case .park = machine.finishWork(with: 2).next,
      machine.park(7), machine.park(8),
      case .product(0, start: nil) = machine.take(waiter: 5),
      case .product(1, start: .wake(8)?) = machine.take(waiter: 5),
      case .work(3, start: _, dismiss: [7]) = machine.arrive(), case .leave = machine.arrive()
    else {
      Issue.record("not dismissed")
      return
    }
  }

  @Test func `A woken worker leaves when another takes the last work`() {
    var machine = machine(maxConcurrent: 2, work: 0..<4, starting: [0, 1])
    guard case .work(2, start: _, dismiss: []) = machine.finishWork(with: 0).next,
      case .park = machine.finishWork(with: 1).next, machine.park(7),
      case .product(0, start: .wake(7)?) = machine.take(waiter: 5),
      case .product(1, start: nil) = machine.take(waiter: 5),
      case .work(3, start: _, dismiss: []) = machine.finishWork(with: 2).next, case .leave = machine.arrive()
    else {
      Issue.record("did not leave")
      return
    }
  }

  @Test func `A waiter is woken by the last result and by the end`() {
    var machine = machine(maxConcurrent: 1, work: 0..<1, starting: [0])
    let woken = machine.finish()
    #expect(woken == nil)
    guard case .wait(5) = machine.take(waiter: 5), case (.leave, 5) = machine.finishWork(with: 0),
      case .product(0, start: _) = machine.take(waiter: 6), case .end = machine.take(waiter: 6)
    else {
      Issue.record("not woken")
      return
    }
    guard case .refuse = machine.add(1) else {
      Issue.record("added")
      return
    }
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
    #expect(cleared.wake == 5)
  }

  @Test func `Consumers that wait at one time are woken together`() {
    var machine = machine(maxConcurrent: 1, work: 0..<1, starting: [0])
    guard case .wait(5) = machine.take(waiter: 5), case .wait(5) = machine.take(waiter: 6) else {
      Issue.record("they wait apart")
      return
    }
    guard case (.leave, 5) = machine.finishWork(with: 0), case .product(0, start: _) = machine.take(waiter: 6),
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
  private var machine: LineMachine<Int, Int, Int, Int>
  private var nextWork = 0
  private var running: [Int] = []
  /// Workers that received `park` and have not parked yet.
  private var aboutToPark: [Int] = []
  private var parked: Set<Int> = []
  /// Workers that were woken and have not arrived.
  private var woken: [Int] = []
  private var nextWorker = 0
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
    case 5: if Bool.random(using: &generator) { park() } else { arrive() }
    case 6: take()
    case 7: machine.suspend(); isSuspended = true
    case 8: resume()
    default: clear()
    }
  }

  /// Lets everything come to its end.
  mutating func wrapUp() {
    resume()
    isFinished = true
    wake(machine.finish())
    for _ in 0..<200
    where waiter != nil || !running.isEmpty || !aboutToPark.isEmpty || !woken.isEmpty || taken.count < finished.count {
      finishWork(at: running.indices.first)
      park()
      arrive()
      take()
    }
    #expect(waiter == nil && running.isEmpty && parked.isEmpty && aboutToPark.isEmpty && woken.isEmpty)
    #expect(taken == finished)
    #expect((begun + dropped).sorted() == Array(0..<nextWork))
    #expect(finished.sorted() == begun)
    if case .end = machine.take(waiter: 0) { return }
    Issue.record("not ended")
  }

  private mutating func add() {
    switch machine.add(nextWork) {
    case .refuse: #expect(isFinished)
    case .keep: #expect(!isFinished)
    case .start(let start): begin(start)
    }
    nextWork += 1
  }

  private mutating func finishWork(at index: Int?) {
    guard let index else { return }
    let work = running.remove(at: index)
    finished.append(work)
    let action = machine.finishWork(with: work)
    wake(action.wake)
    perform(action.next)
  }

  private mutating func arrive() {
    if woken.popLast() != nil { perform(machine.arrive()) }
  }

  private mutating func perform(_ action: LineMachine<Int, Int, Int, Int>.WorkAction) {
    switch action {
    case .work(let work, let starts, let dismissed):
      begin(work)
      for start in starts { begin(start) }
      for worker in dismissed { unpark(worker) }
    case .park:
      aboutToPark.append(nextWorker)
      nextWorker += 1
    case .leave: break
    }
  }

  private mutating func park() {
    guard let worker = aboutToPark.popLast() else { return }
    if machine.park(worker) { parked.insert(worker) }
  }

  private mutating func take() {
    guard waiter == nil else { return }
    nextWaiter += 1
    switch machine.take(waiter: nextWaiter) {
    case .product(let product, let start):
      taken.append(product)
      if let start { begin(start) }
    case .wait(let waiter):
      #expect(waiter == nextWaiter, "it was woken before")
      self.waiter = waiter
    case .end: #expect(isFinished)
    }
  }

  private mutating func resume() {
    isSuspended = false
    for start in machine.resume() { begin(start) }
  }

  private mutating func clear() {
    let action = machine.clearPending()
    dropped += action.dropped
    wake(action.wake)
    for worker in action.dismiss { unpark(worker) }
  }

  private mutating func begin(_ start: LineMachine<Int, Int, Int, Int>.Start) {
    switch start {
    case .new(let work): begin(work)
    case .wake(let worker): unpark(worker)
    }
  }

  private mutating func unpark(_ worker: Int) {
    let wasParked = parked.remove(worker) != nil
    #expect(wasParked)
    woken.append(worker)
  }

  private mutating func begin(_ work: Int) {
    #expect(!isSuspended)
    #expect(finished.count - taken.count < maxConcurrent)
    #expect(begun.last.map { $0 < work } ?? true)
    begun.append(work)
    running.append(work)
    #expect(running.count <= maxConcurrent)
  }

  private mutating func wake(_ woken: Int?) {
    guard let woken else { return }
    #expect(woken == waiter)
    waiter = nil
  }
}
