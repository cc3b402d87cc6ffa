// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A gate with a number of slots: first come, first served within a priority.
final class Gate<Entrant: Sendable>: Sendable {
  private let machine: Lock<GateMachine<Entrant>>
  private let admit: @Sendable (Entrant) -> Void

  /// - Parameters:
  ///   - slots: The maximum number of entrants inside; at least one.
  ///   - admit: Notifies a waiting entrant that it has a slot.
  init(slots: Int, admit: @escaping @Sendable (Entrant) -> Void) {
    machine = Lock(GateMachine(slots: slots))
    self.admit = admit
  }

  func arrive(_ entrant: Entrant, mode: GateMode, priority: Int = 0) -> GateMachine<Entrant>.ArriveAction {
    machine.withLock { $0.arrive(entrant, mode: mode, priority: priority) }
  }

  /// All entrants, in order of arrival.
  var entrants: [(id: GateID, entrant: Entrant)] { machine.withLock { $0.entrants } }

  /// The entrants that must leave before one that waits is admitted; none with several slots, one of which suffices.
  var blockers: [Entrant] { machine.withLock { $0.blockers } }

  /// Removes waiting entrants from the queue, all at one instant.
  func withdraw(_ ids: some Sequence<GateID>) {
    machine.withLock { machine in
      for id in ids { machine.withdraw(id) }
    }
  }

  func leave(_ id: GateID) {
    for entrant in machine.withLock({ $0.leave(id) }) { admit(entrant) }
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    for entrant in machine.withLock({ $0.resume() }) { admit(entrant) }
  }
}
