// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct GateMachineTests {
  typealias Machine = GateMachine<String>

  @Test(arguments: [1, 2, 5])
  func `A gate admits as many as it has slots`(slots: Int) {
    var machine = Machine(capacity: slots)
    for index in 0..<slots { #expect(machine.arrive("\(index)", mode: .queue).isAdmitted) }
    #expect(machine.arrive("next", mode: .queue).isWaiting)
    #expect(machine.admittedCount == slots)
    #expect(machine.waitingCount == 1)
  }

  @Test(arguments: [0, -1, .min])
  func `Fewer than one slot counts as one`(slots: Int) {
    var machine = Machine(capacity: slots)
    #expect(machine.arrive("a", mode: .queue).isAdmitted)
    #expect(machine.arrive("b", mode: .queue).isWaiting)
  }

  @Test func `Waiters are admitted in the order of arrival`() {
    var machine = Machine(capacity: 1)
    let first = machine.arrive("a", mode: .queue)
    let second = machine.arrive("b", mode: .queue)
    _ = machine.arrive("c", mode: .queue)
    #expect(machine.leave(first.id) == ["b"])
    #expect(machine.leave(second.id) == ["c"])
  }

  @Test func `A waiter that leaves is not admitted`() {
    var machine = Machine(capacity: 1)
    let first = machine.arrive("a", mode: .queue)
    let second = machine.arrive("b", mode: .queue)
    _ = machine.arrive("c", mode: .queue)
    #expect(machine.leave(second.id) == [])
    #expect(machine.waitingCount == 1)
    #expect(machine.leave(first.id) == ["c"])
  }

  @Test func `An entrant that has left changes nothing`() {
    var machine = Machine(capacity: 1)
    let first = machine.arrive("a", mode: .queue)
    _ = machine.arrive("b", mode: .queue)
    _ = machine.arrive("c", mode: .queue)
    #expect(machine.leave(first.id) == ["b"])
    #expect(machine.leave(first.id) == [], "a second leave frees no second slot")
    #expect(machine.leave(99) == [])
    #expect(machine.admittedCount == 1)
  }

  @Test func `refuse admits only if there is room`() {
    var machine = Machine(capacity: 1)
    let first = machine.arrive("a", mode: .refuse)
    #expect(first.isAdmitted)
    let refused = machine.arrive("b", mode: .refuse)
    #expect(refused.isRefused)
    #expect(refused.displaced.isEmpty)
    #expect(machine.leave(refused.id) == [])
    #expect(machine.admittedCount == 1)
    _ = machine.leave(first.id)
    #expect(machine.arrive("c", mode: .refuse).isAdmitted)
  }

  @Test func `replaceWaiting displaces the waiting entrant`() {
    var machine = Machine(capacity: 1)
    let first = machine.arrive("a", mode: .replaceWaiting)
    #expect(machine.arrive("b", mode: .replaceWaiting).displaced == [])
    #expect(machine.arrive("c", mode: .replaceWaiting).displaced == ["b"])
    #expect(machine.leave(first.id) == ["c"])
  }

  @Test
  func `replaceAll displaces waiting entrants, then waits for the others`() {
    var machine = Machine(capacity: 1)
    let first = machine.arrive("a", mode: .replaceAll)
    #expect(machine.arrive("b", mode: .replaceAll).displaced == ["a"])
    let third = machine.arrive("c", mode: .replaceAll)
    #expect(third.displaced == ["a", "b"])
    #expect(third.isWaiting, "never two at once")
    #expect(machine.leave(first.id) == ["c"])
  }

  @Test func `A suspended gate admits no entrant`() {
    var machine = Machine(capacity: 2)
    let first = machine.arrive("a", mode: .queue)
    machine.suspend()
    #expect(machine.arrive("b", mode: .queue).isWaiting)
    #expect(machine.arrive("c", mode: .queue).isWaiting)
    #expect(machine.arrive("d", mode: .refuse).isRefused)
    #expect(machine.leave(first.id) == [])
    #expect(machine.admittedCount == 0)
    #expect(machine.resume() == ["b", "c"])
    #expect(machine.resume() == [])
  }

  @Test
  func `Entrants are admitted by priority, and in order within one priority`() {
    var machine = Machine(capacity: 1)
    var last = machine.arrive("first", mode: .queue)
    #expect(machine.arrive("low", mode: .queue, priority: 1).isWaiting)
    _ = machine.arrive("high 1", mode: .queue, priority: 3)
    let left = machine.arrive("high 2", mode: .queue, priority: 3)
    _ = machine.arrive("high 3", mode: .queue, priority: 3)
    #expect(machine.leave(left.id) == [])
    #expect(machine.leave(last.id) == ["high 1"])
    last = machine.arrive("highest", mode: .replaceWaiting, priority: 9)
    #expect(last.displaced == ["high 3", "low"])
  }

  @Test func `A waiter is withdrawn and an entrant inside stays`() {
    var machine = Machine(capacity: 1)
    let first = machine.arrive("a", mode: .queue)
    let second = machine.arrive("b", mode: .queue)
    _ = machine.arrive("c", mode: .queue)
    machine.withdraw(first.id)
    machine.withdraw(second.id)
    machine.withdraw(99)
    #expect(machine.admittedCount == 1 && machine.waitingCount == 1)
    #expect(machine.leave(first.id) == ["c"])
  }

  /// With 100,000 waiters a removal that looked through the queue would take minutes.
  @Test func `A waiter is removed in constant time`() {
    var machine = GateMachine<Int>(capacity: 1)
    let first = machine.arrive(-1, mode: .queue)
    let waiters = (0..<100_000).map { machine.arrive($0, mode: .queue).id }
    for id in waiters.dropLast().reversed() { _ = machine.leave(id) }
    #expect(machine.waitingCount == 1)
    #expect(machine.leave(first.id) == [99_999])
  }
}

extension GateMachine {
  var admittedCount: Int { admitted.count }
  var waitingCount: Int { entrants.count - admitted.count }
}

extension GateMachine.ArriveAction {
  fileprivate var isAdmitted: Bool { if case .admit = self { true } else { false } }
  fileprivate var isWaiting: Bool { if case .wait = self { true } else { false } }
  fileprivate var isRefused: Bool { if case .refuse = self { true } else { false } }
  fileprivate var displaced: [Entrant] { if case .wait(_, let displaced) = self { displaced } else { [] } }
}

extension GateMachine.ArriveAction {
  var id: GateID {
    switch self {
    case .admit(let id), .wait(let id, _), .refuse(let id): id
    }
  }
}
