// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct JobCallsMachineTests {
  typealias Machine = JobCallsMachine<Int>

  @Test func `Calls are made in the order in which they are enqueued`() {
    var machine = Machine(hasStart: true)
    #expect(machine.enqueue(1) == false, "a task is on its way")
    #expect(machine.enqueue(2) == false)
    #expect(machine.isBusy)
    let calls = (0..<4).map { _ in machine.next().brief }
    #expect(calls == ["start", "1", "2", "-"])
    #expect(machine.enqueue(3) == true, "no task was left to make it")
  }

  @Test func `After closing, nothing is added and pending calls are made`() {
    var machine = Machine(hasStart: true)
    machine.close()
    #expect(machine.enqueue(1) == false)
    let calls = (0..<2).map { _ in machine.next().brief }
    #expect(calls == ["start", "-"])
    #expect(!machine.isSilent)
  }

  @Test
  func `A call stays in progress after silence()`() {
    var machine = Machine()
    _ = machine.enqueue(1)
    #expect(machine.next().brief == "1")
    machine.close()
    #expect(machine.isBusy)
    _ = machine.silence()
    #expect(machine.isBusy)
    #expect(machine.next().brief == "-")
    #expect(!machine.isBusy)
  }

  @Test func `Silencing drops pending calls and is permanent`() {
    var machine = Machine(hasStart: true)
    _ = machine.enqueue(1)
    let dropped = machine.silence()
    #expect(dropped == [1])
    #expect(machine.isSilent && !machine.isBusy)
    machine.close()
    #expect(machine.isSilent)
    #expect(machine.enqueue(2) == false)
    let (call, rest) = (machine.next(), machine.silence())
    #expect(call.brief == "-" && rest.isEmpty)
  }

  @Test func `A burst of updates leaves no memory behind`() {
    var machine = Machine()
    for update in 0..<5_000 { _ = machine.enqueue(update) }
    _ = machine.next()
    for update in 5_000..<10_000 { _ = machine.enqueue(update) }
    for _ in 1..<10_000 { #expect(machine.next().brief != "-") }
    #expect(machine.next().brief == "-")
    let lists = Mirror(reflecting: machine).children.compactMap { $0.value as? [Int] }
    #expect(lists.map(\.capacity) == [0, 0])
  }

  /// Whatever the order of events: calls come in order, each once; nothing comes after silence; and whenever something is
  /// pending, a task is on its way.
  @Test func `No order of events loses a call or makes one twice`() {
    for seed in seeds(5_000) {
      var generator = SeededGenerator(seed: seed)
      let hasStart = Bool.random(using: &generator)
      var machine = Machine(hasStart: hasStart)
      var (pending, reported): ([String], [String]) = (hasStart ? ["start"] : [], [])
      var (isOpen, isSilent, isOnTheWay, isCalling) = (true, false, hasStart, false)
      for step in 0..<Int.random(in: 1...60, using: &generator) {
        switch Int.random(in: 0..<40, using: &generator) {
        case 0:
          let dropped = machine.silence().map(String.init)
          #expect(dropped == pending.filter { $0 != "start" }, "seed \(seed)")
          (pending, isSilent, isOpen) = ([], true, false)
        case 1:
          machine.close()
          isOpen = false
        case 2..<20:
          let isNew = machine.enqueue(step)
          #expect(isNew == (isOpen && !isOnTheWay), "seed \(seed)")
          if isNew { isOnTheWay = true }
          if isOpen { pending.append("\(step)") }
        default:
          let call = machine.next().brief
          #expect(call == pending.first ?? "-", "seed \(seed)")
          isCalling = !pending.isEmpty
          if pending.isEmpty { isOnTheWay = false } else { reported.append(pending.removeFirst()) }
        }
        #expect(machine.isBusy == (!pending.isEmpty || isCalling), "seed \(seed)")
        #expect(machine.isSilent == isSilent, "seed \(seed)")
        #expect(pending.isEmpty || isOnTheWay, "seed \(seed): no task is on its way")
      }
      #expect(reported == reported.sorted { (Int($0) ?? -1) < (Int($1) ?? -1) }, "seed \(seed)")
    }
  }
}

extension JobCallsMachine<Int>.Call {
  fileprivate var brief: String {
    switch self {
    case .start: "start"
    case .update(let number): "\(number)"
    }
  }
}

extension JobCallsMachine<Int>.Call? {
  fileprivate var brief: String { self?.brief ?? "-" }
}
