// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A run with a Task of its own, as those see it who may cancel it.
final class RunCore: CancellationSource {
  private struct State {
    var machine = RunMachine()
    /// Cancels the Task.
    var interrupt: (@Sendable () -> Void)?
  }

  let chain: ChainCore
  /// Settled when the gate lets the run in; used only where there is a gate.
  let admission = Once<Void>()
  private let state = Lock(State())
  private let flag = Atomic(false)

  init(chain: ChainCore) {
    self.chain = chain
  }

  var isAsked: Bool { flag.load(ordering: .acquiring) }
  var request: Cancellation? { isAsked ? state.withLock { $0.machine.request } : nil }
  var isOver: Bool { state.withLock { $0.machine.isOver } }

  /// Returns whether this was the call that cancelled the run.
  func cancel(reason: String?) -> Bool {
    let (isFirst, interrupt) = state.withLock { state in
      guard state.machine.ask(Cancellation(reason: reason)) else { return (false, nil as (@Sendable () -> Void)?) }
      flag.store(true, ordering: .releasing)
      return (true, state.interrupt)
    }
    interrupt?()
    return isFirst
  }

  /// Gives the run the means to cancel its Task, and uses it if the run was cancelled before.
  func attach(_ interrupt: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if !state.machine.isOver { state.interrupt = interrupt }
      return state.machine.isInterrupted
    }
    if isLate { interrupt() }
  }

  /// Decides the outcome; what is asked from elsewhere counts as long as nobody asked here.
  func close(with error: (any Error)?, asked request: Cancellation?) -> Outcome<Void> {
    state.withLock { state in
      if let request { _ = state.machine.ask(request) }
      state.interrupt = nil
      return state.machine.close(with: error)
    }
  }

  func end() {
    state.withLock { state in
      state.interrupt = nil
      state.machine.end()
    }
  }
}
