// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A gate with a number of slots: first come, first served, among those of one priority.
final class Gate<Entrant: Sendable>: Sendable {
  private let machine: Lock<GateMachine<Entrant>>
  private let admit: @Sendable (Entrant) -> Void

  /// - Parameters:
  ///   - slots: How many may be inside at once; at least one.
  ///   - admit: Tells one who waited that it is inside now.
  init(slots: Int, admit: @escaping @Sendable (Entrant) -> Void) {
    machine = Lock(GateMachine(slots: slots))
    self.admit = admit
  }

  func arrive(
    _ entrant: Entrant,
    mode: GateMachine<Entrant>.Mode,
    priority: Int = 0
  ) -> GateMachine<Entrant>.Arrival {
    machine.withLock { $0.arrive(entrant, mode: mode, priority: priority) }
  }

  /// Those inside.
  var insiders: [Entrant] { machine.withLock { $0.insiders } }

  /// Takes those out of the queue who wait there, all at one instant.
  func withdraw(_ ids: some Sequence<GateMachine<Entrant>.ID>) {
    machine.withLock { machine in
      for id in ids { machine.withdraw(id) }
    }
  }

  func leave(_ id: GateMachine<Entrant>.ID) {
    for entrant in machine.withLock({ $0.leave(id) }) { admit(entrant) }
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    for entrant in machine.withLock({ $0.resume() }) { admit(entrant) }
  }
}
