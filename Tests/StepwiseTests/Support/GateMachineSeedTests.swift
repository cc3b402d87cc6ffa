// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Random orders of events at a gate, against a gate made of two arrays.
@Suite(.timeLimit(.minutes(5)))
struct GateMachineSeedTests {
  @Test(arguments: [1, 2, 3, 7])
  func `Every order of events gives what the reference gives`(slots: Int) {
    for seed in seeds(2_000) { check(seed, slots: slots) }
  }

  private func check(_ seed: UInt64, slots: Int) {
    var generator = SeededGenerator(seed: seed)
    var machine = GateMachine<Int>(capacity: slots)
    var reference = Reference(slots: slots)
    var ids: [GateID] = []
    for entrant in 0..<Int.random(in: 1...60, using: &generator) {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0:
        machine.suspend()
        reference.isSuspended = true
      case 1:
        #expect(machine.resume() == reference.resume(), "seed \(seed)")
      case 2:
        guard let id = ids.randomElement(using: &generator) else { continue }
        machine.withdraw(id)
        reference.withdraw(id)
      case 3...5:
        guard let id = ids.randomElement(using: &generator) else { continue }
        #expect(machine.leave(id) == reference.leave(id), "seed \(seed)")
      default:
        let mode = GateMode.all.randomElement(using: &generator) ?? .queue
        let priority = Int.random(in: 0..<3, using: &generator)
        let arrival = machine.arrive(entrant, mode: mode, priority: priority)
        let expected = reference.arrive(entrant, id: arrival.id, mode: mode, priority: priority)
        #expect(!ids.contains(arrival.id), "seed \(seed): an id was used twice")
        ids.append(arrival.id)
        #expect(arrival.sorted == expected.sorted, "seed \(seed)")
      }
      #expect(machine.admittedCount <= slots, "seed \(seed): more inside than slots")
      #expect(machine.admittedCount == reference.inside.count, "seed \(seed)")
      #expect(machine.waitingCount == reference.waiting.count, "seed \(seed)")
    }
    #expect(machine.resume() == reference.resume(), "seed \(seed)")
    while let last = reference.inside.last {
      #expect(machine.leave(last.id) == reference.leave(last.id), "seed \(seed)")
    }
    #expect(machine.admittedCount == 0 && machine.waitingCount == 0, "seed \(seed): an entrant is left")
    #expect(reference.fates.values.allSatisfy { $0 == 1 }, "seed \(seed): \(reference.fates)")
  }

  private struct Reference {
    let slots: Int
    var isSuspended = false
    var inside: [(id: UInt64, entrant: Int)] = []
    /// Those to be let in first come first.
    var waiting: [(id: UInt64, entrant: Int, priority: Int)] = []
    /// How often each entrant was admitted, refused, displaced from the queue or left it: once each in the end.
    var fates: [Int: Int] = [:]

    init(slots: Int) {
      self.slots = slots
    }

    mutating func arrive(_ entrant: Int, id: UInt64, mode: GateMode, priority: Int) -> GateMachine<Int>.ArriveAction {
      if !isSuspended, inside.count < slots {
        inside.append((id, entrant))
        fates[entrant, default: 0] += 1
        return .admit(id)
      }
      var displaced: [Int] = []
      if case .refuse = mode {
        fates[entrant, default: 0] += 1
        return .refuse(id)
      }
      if case .replaceAll = mode { displaced += inside.map(\.entrant) }
      if mode != .queue {
        for waiter in waiting { fates[waiter.entrant, default: 0] += 1 }
        displaced += waiting.map(\.entrant)
        waiting = []
      }
      let index = waiting.firstIndex { $0.priority < priority } ?? waiting.endIndex
      waiting.insert((id, entrant, priority), at: index)
      return .wait(id, displaced: displaced)
    }

    mutating func leave(_ id: UInt64) -> [Int] {
      inside.removeAll { $0.id == id }
      withdraw(id)
      return admit()
    }

    mutating func withdraw(_ id: UInt64) {
      for waiter in waiting where waiter.id == id { fates[waiter.entrant, default: 0] += 1 }
      waiting.removeAll { $0.id == id }
    }

    mutating func resume() -> [Int] {
      isSuspended = false
      return admit()
    }

    private mutating func admit() -> [Int] {
      var admitted: [Int] = []
      while !isSuspended, inside.count < slots, !waiting.isEmpty {
        let next = waiting.removeFirst()
        inside.append((next.id, next.entrant))
        fates[next.entrant, default: 0] += 1
        admitted.append(next.entrant)
      }
      return admitted
    }
  }
}

extension GateMachine<Int>.ArriveAction {
  /// The action, with those that it displaces in one order.
  fileprivate var sorted: String {
    guard case .wait(let id, let displaced) = self else { return "\(self)" }
    return "wait \(id) \(displaced.sorted())"
  }
}

extension GateMode {
  fileprivate static var all: [Self] { [.queue, .refuse, .replaceWaiting, .replaceAll] }
}
