// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A gate with a number of slots: first come, first served.
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

  func arrive(_ entrant: Entrant, mode: GateMachine<Entrant>.Mode) -> GateMachine<Entrant>.Arrival {
    machine.withLock { $0.arrive(entrant, mode: mode) }
  }

  func leave(_ id: GateMachine<Entrant>.ID) {
    for entrant in machine.withLock({ $0.leave(id) }) { admit(entrant) }
  }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() {
    for entrant in machine.withLock({ $0.resume() }) { admit(entrant) }
  }
}
