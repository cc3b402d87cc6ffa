// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run enters a gate: that of its chain, or that of a queue of jobs.
struct Entrance: Sendable {
  let gate: Gate<RunState>
  let mode: GateMode
  var priority = 0
}

extension Gate<RunState> {
  /// Creates a gate of runs.
  convenience init(slots: Int) {
    self.init(slots: slots) { $0.admission.settle(()) }
  }
}

extension RunState {
  /// Waits until the gate admits the run; one whose waiting task is cancelled leaves the queue.
  nonisolated(nonsending) func waitForAdmission() async {
    guard case .waiting(let place) = slot else { return }
    let isAdmitted = await admission.value() != nil
    slot = isAdmitted ? .held(place) : .none
    if !isAdmitted { entrance?.gate.leave(place) }
  }

  /// Frees the slot, or leaves the queue.
  func leaveGate() {
    switch slot {
    case .none: break
    case .waiting(let place), .held(let place): entrance?.gate.leave(place)
    }
  }
}
