// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run enters a gate: that of its chain, or that of a queue of jobs.
struct Entrance: Sendable {
  let gate: Gate
  let mode: GateMode
  /// The overlap policy, as the reason for which a run that is refused or displaced is cancelled.
  let policy: String
  var priority = 0
}

extension Entrance {
  /// Returns nil for a policy without a gate.
  init?(_ overlap: Overlap) {
    guard let mode = overlap.mode else { return nil }
    self.init(gate: Gate(capacity: overlap.capacity), mode: mode, policy: overlap.name)
  }
}

/// A gate for a number of runs: first come, first served within a priority.
final class Gate: Sendable {
  private let machine: Lock<GateMachine<Execution>>
  /// How many runs it admits at once.
  let capacity: Int

  init(capacity: Int) {
    machine = Lock(GateMachine(capacity: capacity))
    self.capacity = max(1, capacity)
  }

  func arrive(_ run: Execution, by entrance: Entrance) -> GateMachine<Execution>.ArriveAction {
    machine.withLock { $0.arrive(run, mode: entrance.mode, priority: entrance.priority) }
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
