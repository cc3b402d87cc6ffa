// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run enters a gate: that of its chain, or that of a queue of jobs.
struct Entrance: Sendable {
  let gate: Gate
  let mode: GateMode
  var priority = 0
}

/// A gate with a number of slots: first come, first served within a priority.
final class Gate: Sendable {
  private let machine: Lock<GateMachine<Execution>>
  /// How many runs are inside at most.
  let slots: Int

  init(slots: Int) {
    machine = Lock(GateMachine(slots: slots))
    self.slots = max(1, slots)
  }

  func arrive(_ run: Execution, mode: GateMode, priority: Int = 0) -> GateMachine<Execution>.ArriveAction {
    machine.withLock { $0.arrive(run, mode: mode, priority: priority) }
  }

  var entrants: [(id: GateID, entrant: Execution)] { machine.withLock { $0.entrants } }

  /// Removes waiting runs from the queue, all at one instant.
  func withdraw(_ ids: some Sequence<GateID>) {
    machine.withLock { machine in
      for id in ids { machine.withdraw(id) }
    }
  }

  func leave(_ id: GateID) { change { $0.leave(id) } }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() { change { $0.resume() } }

  private func change(_ admit: (inout GateMachine<Execution>) -> [Execution]) {
    for run in machine.withLock({ admit(&$0) }) { run.admit() }
  }
}
