// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A run with a Task of its own, as those see it who may cancel it.
final class RunCore: CancellationSource {
  private struct State {
    var machine = RunMachine()
    var task: Task<Conclusion, Never>?
    /// Let go of at the end, so that the handle of a run that is over keeps nothing alive.
    var listener: (any RunListener)?
  }

  /// Which chain's, without keeping it: the handle of a run that is over keeps no step alive.
  let chainID: ObjectIdentifier
  /// Settled when the gate lets the run in; nil where there is no gate.
  let admission: Once<Void>?
  private let state: Lock<State>
  private let flag = Atomic(false)

  init(chain: ChainCore, isGated: Bool, listener: (any RunListener)? = nil) {
    state = Lock(State(listener: listener))
    chainID = ObjectIdentifier(chain)
    admission = isGated ? Once() : nil
  }

  var isAsked: Bool { flag.load(ordering: .acquiring) }
  var request: Cancellation? { isAsked ? state.withLock { $0.machine.request } : nil }
  var listener: (any RunListener)? { state.withLock { $0.listener } }
  var isOver: Bool { state.withLock { $0.machine.isOver } }

  /// Returns whether this was the call that cancelled the run.
  func cancel(reason: String?) -> Bool {
    listener?.stop()
    let (isFirst, task): (Bool, Task<Conclusion, Never>?) = state.withLock { state in
      guard state.machine.ask(Cancellation(reason: reason)) else { return (false, nil) }
      flag.store(true, ordering: .releasing)
      return (true, state.task)
    }
    task?.cancel()
    return isFirst
  }

  /// Gives the run its Task, and cancels that if the run was cancelled before.
  func attach(_ task: Task<Conclusion, Never>) {
    let isLate = state.withLock { state in
      if state.machine.isOpen { state.task = task }
      return state.machine.isInterrupted
    }
    if isLate { task.cancel() }
  }

  /// Decides the outcome; what is asked from elsewhere counts as long as nobody asked here.
  func close(with error: (any Error)?, asked request: Cancellation?) -> Outcome<Void> {
    state.withLock { state in
      if let request { _ = state.machine.ask(request) }
      state.task = nil
      return state.machine.close(with: error)
    }
  }

  func end() {
    _ = state.withLock { state in
      state.machine.end()
      return state.listener.take()
    }
  }
}
