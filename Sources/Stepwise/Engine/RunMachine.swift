// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The life of a run: it waits for its gate, runs its steps, undoes and calls handlers, and has completed.
///
/// Sources of cancellation request it, and the first request is stored. The end of the last step decides the outcome, once:
/// from then on no request changes it, neither during undos and handlers nor afterwards.
struct RunMachine {
  private enum Phase {
    case waiting
    case running
    /// The outcome is decided; undos and handlers run.
    case undoing
    case completed(Outcome<Void>)
  }

  private var phase: Phase
  private(set) var request: CancellationRequest?
  /// Whether the run has passed its gate, if it has one.
  private(set) var isAdmitted: Bool

  init(isGated: Bool = false) {
    phase = isGated ? .waiting : .running
    isAdmitted = !isGated
  }

  /// Whether a request still has an effect.
  var isUndecided: Bool {
    switch phase {
    case .waiting, .running: true
    case .undoing, .completed: false
    }
  }

  /// Whether it waits for its gate, and no request makes it leave.
  var isWaiting: Bool { if case .waiting = phase { request == nil } else { false } }

  var outcome: Outcome<Void>? { if case .completed(let outcome) = phase { outcome } else { nil } }

  mutating func admit() {
    guard case .waiting = phase else { return }
    (phase, isAdmitted) = (.running, true)
  }

  /// The run gives up waiting; returns false when it has been admitted.
  mutating func leaveQueue() -> Bool {
    guard case .waiting = phase else { return isAdmitted == false }
    phase = .running
    return true
  }

  /// Returns whether this call has cancelled the run.
  mutating func requestCancellation(_ request: CancellationRequest) -> Bool {
    guard isUndecided, self.request == nil else { return false }
    self.request = request
    return true
  }

  /// Decides the outcome: with an error, or otherwise with the value of the last step.
  mutating func decide(with error: (any Error)?) -> Outcome<Void> {
    phase = .undoing
    return Outcome(error, cancelledBy: request?.cancellation)
  }

  mutating func complete(_ outcome: Outcome<Void>) { phase = .completed(outcome) }
}
