// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The machine behind a production line, with work, products, waiters and workers that are numbers.
@Suite(.timeLimit(.minutes(5)))
struct LineMachineTests {
  private typealias Machine = LineMachine<Int, Int, Int, Int>

  private func machine(maxConcurrent: Int, work: Range<Int>) -> Machine {
    var machine = Machine(maxConcurrent: maxConcurrent)
    for work in work { _ = machine.add(work) }
    return machine
  }

  @Test func workBeginsInOrderAsLongAsThereIsRoom() {
    var machine = machine(maxConcurrent: 2, work: 0..<4)
    let starts = machine.hire()
    #expect(starts.map(\.work) == [0, 1])
    let further = machine.hire()
    #expect(further.isEmpty)
    guard case (.work(2), _) = machine.finishWork(with: 0) else {
      Issue.record("the worker did not go on")
      return
    }
  }

  @Test(arguments: [Int.min, -1, 0, 1]) func lessThanOneAtOnceIsOne(maxConcurrent: Int) {
    var machine = machine(maxConcurrent: maxConcurrent, work: 0..<2)
    let starts = machine.hire()
    #expect(starts.map(\.work) == [0])
  }

  @Test func aFullShelfParksTheWorkerUntilAProductIsTaken() {
    var machine = machine(maxConcurrent: 1, work: 0..<2)
    let starts = machine.hire()
    #expect(starts.count == 1)
    guard case (.park, _) = machine.finishWork(with: 0), case .suspend = machine.park(7) else {
      Issue.record("not parked")
      return
    }
    let further = machine.hire()
    #expect(further.isEmpty)
    let dismissed = machine.dismiss()
    #expect(dismissed.isEmpty)
    guard case .product(0) = machine.take(waiter: 1) else {
      Issue.record("no product")
      return
    }
    let next = machine.hire()
    #expect(next.map(\.work) == [1] && next.map(\.worker) == [7])
  }

  @Test func aWorkerThatParksTooLateGoesOn() {
    var machine = machine(maxConcurrent: 1, work: 0..<2)
    _ = machine.hire()
    guard case (.park, _) = machine.finishWork(with: 0), case .product(0) = machine.take(waiter: 1),
      case .resume(1) = machine.park(7)
    else {
      Issue.record("did not go on")
      return
    }
    // The other one's work is running: nothing begins beside it.
    let starts = machine.hire()
    #expect(starts.isEmpty)
  }

  @Test func aWorkerThatParksAfterItsWorkWasDroppedLeaves() {
    var machine = machine(maxConcurrent: 1, work: 0..<2)
    _ = machine.hire()
    guard case (.park, _) = machine.finishWork(with: 0) else {
      Issue.record("did not receive park")
      return
    }
    let cleared = machine.clearPending()
    #expect(cleared.0 == [1])
    guard case .resume(nil) = machine.park(7) else {
      Issue.record("still parked")
      return
    }
  }

  @Test func parkedWorkersAreDismissedWhenNothingIsLeft() {
    var machine = machine(maxConcurrent: 1, work: 0..<2)
    _ = machine.hire()
    _ = machine.finishWork(with: 0)
    _ = machine.park(7)
    let cleared = machine.clearPending()
    #expect(cleared.0 == [1])
    let dismissed = machine.dismiss()
    #expect(dismissed == [7])
    let again = machine.dismiss()
    #expect(again.isEmpty)
  }

  @Test func aWaiterIsWokenByTheLastProductAndByTheEnd() {
    var machine = machine(maxConcurrent: 1, work: 0..<1)
    _ = machine.hire()
    let woken = machine.finish()
    #expect(woken.isEmpty)
    guard case .wait(5) = machine.take(waiter: 5), case (.leave, [5]) = machine.finishWork(with: 0),
      case .product(0) = machine.take(waiter: 5), case .ended = machine.take(waiter: 5)
    else {
      Issue.record("not woken")
      return
    }
    let isAdded = machine.add(1)
    #expect(!isAdded)
  }

  @Test func droppingTheLastOfAFinishedLineWakesItsWaiters() {
    var machine = machine(maxConcurrent: 1, work: 0..<1)
    machine.suspend()
    _ = machine.finish()
    guard case .wait(5) = machine.take(waiter: 5) else {
      Issue.record("did not wait")
      return
    }
    let cleared = machine.clearPending()
    #expect(cleared.1 == [5])
  }

  /// Random orders of events against the guarantees: order, limits, nothing twice, nothing lost, no waiter left behind.
  @Test(arguments: seeds()) func everyOrderKeepsThePromises(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var line = SimulatedLine(maxConcurrent: Int.random(in: 1...3, using: &generator))
    for _ in 0..<60 { line.event(Int.random(in: 0..<10, using: &generator), using: &generator) }
    line.wrapUp()
  }
}

/// A line whose workers and consumer the test controls.
private struct SimulatedLine {
  private let maxConcurrent: Int
  private var machine: LineMachine<Int, Int, Int, Int>
  private var nextWork = 0
  private var running: [Int] = []
  /// Workers that received `park` and have not parked yet.
  private var aboutToPark: [Int] = []
  private var parked: Set<Int> = []
  private var nextWorker = 0
  private var begun: [Int] = []
  private var dropped: [Int] = []
  private var finished: [Int] = []
  private var taken: [Int] = []
  private var isSuspended = false
  private var isFinished = false
  /// Whether the consumer waits to be woken.
  private var isWaiting = false

  init(maxConcurrent: Int) {
    self.maxConcurrent = maxConcurrent
    machine = LineMachine(maxConcurrent: maxConcurrent)
  }

  mutating func event(_ number: Int, using generator: inout SeededGenerator) {
    switch number {
    case 0...2: add()
    case 3...4: finishWork(at: running.indices.randomElement(using: &generator))
    case 5: park()
    case 6: take()
    case 7: machine.suspend(); isSuspended = true
    case 8: resume()
    default: if Bool.random(using: &generator) { clear() } else { wake(machine.leave()) }
    }
    settle()
  }

  /// Lets everything come to its end.
  mutating func wrapUp() {
    resume()
    settle()
    isFinished = true
    wake(machine.finish())
    for _ in 0..<200 where isWaiting || !running.isEmpty || !aboutToPark.isEmpty || taken.count < finished.count {
      finishWork(at: running.indices.first)
      park()
      settle()
      if !isWaiting { take() }
      settle()
    }
    #expect(!isWaiting && running.isEmpty && parked.isEmpty && aboutToPark.isEmpty)
    #expect(taken == finished)
    #expect((begun + dropped).sorted() == Array(0..<nextWork))
    #expect(finished.sorted() == begun)
    if case .ended = machine.take(waiter: 0) { return }
    Issue.record("not ended")
  }

  private mutating func add() {
    let isAdded = machine.add(nextWork)
    #expect(isAdded == !isFinished)
    nextWork += 1
  }

  private mutating func finishWork(at index: Int?) {
    guard let index else { return }
    let work = running.remove(at: index)
    finished.append(work)
    let (next, woken) = machine.finishWork(with: work)
    wake(woken)
    switch next {
    case .work(let work): begin(work)
    case .park:
      aboutToPark.append(nextWorker)
      nextWorker += 1
    case .leave: break
    }
  }

  private mutating func park() {
    guard let worker = aboutToPark.popLast() else { return }
    switch machine.park(worker) {
    case .suspend: parked.insert(worker)
    case .resume(let work?): begin(work)
    case .resume(nil): break
    }
  }

  private mutating func take() {
    guard !isWaiting else { return }
    switch machine.take(waiter: 1) {
    case .product(let product): taken.append(product)
    case .wait: isWaiting = true
    case .ended: #expect(isFinished)
    }
  }

  private mutating func resume() {
    machine.resume()
    isSuspended = false
  }

  private mutating func clear() {
    let (works, woken) = machine.clearPending()
    dropped += works
    wake(woken)
  }

  private mutating func settle() {
    for (work, worker) in machine.hire() {
      if let worker { unpark(worker) }
      begin(work)
    }
    for worker in machine.dismiss() { unpark(worker) }
  }

  private mutating func unpark(_ worker: Int) {
    let wasParked = parked.remove(worker) != nil
    #expect(wasParked)
  }

  private mutating func begin(_ work: Int) {
    #expect(!isSuspended)
    #expect(finished.count - taken.count < maxConcurrent)
    #expect(begun.last.map { $0 < work } ?? true)
    begun.append(work)
    running.append(work)
    #expect(running.count <= maxConcurrent)
  }

  private mutating func wake(_ woken: [Int]) {
    guard !woken.isEmpty else { return }
    #expect(isWaiting && woken == [1])
    isWaiting = false
  }
}
