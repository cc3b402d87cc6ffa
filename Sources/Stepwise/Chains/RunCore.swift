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
    var slot = Slot.none
    var waits = OrderedSlots<Wait>()
  }

  /// Whether the run is inside its chain's gate.
  enum Slot {
    case none, waiting, held
  }

  /// One of the runs that this one waits for.
  private struct Wait {
    let run: RunCore
    /// The Task that waits, if it is not the run's own.
    let task: AwaitedTask?
  }

  /// Which chain's, without keeping it: the handle of a run that is over keeps no step alive.
  let chainID: ObjectIdentifier
  /// Settled when the gate lets the run in; nil where there is no gate.
  let admission: Once<Void>?
  private let gate: Gate<RunCore>?
  private let state: Lock<State>
  private let flag = Atomic(false)

  init(chain: ChainCore, gate: Gate<RunCore>?, listener: (any RunListener)? = nil) {
    state = Lock(State(listener: listener))
    chainID = ObjectIdentifier(chain)
    admission = gate == nil ? nil : Once()
    self.gate = gate
  }

  var isCancellationRequested: Bool { flag.load(ordering: .acquiring) }
  var request: Cancellation? { isCancellationRequested ? state.withLock { $0.machine.request } : nil }
  var listener: (any RunListener)? { state.withLock { $0.listener } }
  var isOver: Bool { state.withLock { $0.machine.isOver } }

  /// Returns whether this was the call that cancelled the run.
  func cancel(reason: String?) -> Bool {
    listener?.stop()
    let (isFirst, task): (Bool, Task<Conclusion, Never>?) = state.withLock { state in
      guard state.machine.requestCancellation(Cancellation(reason: reason)) else { return (false, nil) }
      flag.store(true, ordering: .releasing)
      return (true, state.task)
    }
    if isFirst { CancellationCount.increment() }
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
      if let request { _ = state.machine.requestCancellation(request) }
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

  // MARK: - Who waits for whom

  var slot: Slot {
    get { state.withLock { $0.slot } }
    set { state.withLock { $0.slot = newValue } }
  }

  /// Waits for the end of this run on behalf of the run that the current Task works in, if that waits for the Task.
  ///
  /// Each run notes for whom it waits before it looks whether it is waited for: of runs that begin to wait for each other at
  /// one instant, one at least finds out.
  ///
  /// - Throws: what the operation throws; `ChainError.reentrant` when this run waits for that one.
  nonisolated(nonsending) func whileAwaited<Value>(
    _ operation: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    guard let scope = CancellationScope.current, scope.isAwaited, let waiter = scope.enclosing.first as? RunCore else {
      return try await operation()
    }
    let wait = Wait(run: self, task: scope.awaitedTask)
    let key = waiter.state.withLock { $0.waits.append(wait) }
    defer { _ = waiter.state.withLock { $0.waits.remove(key) } }
    if waits(for: waiter) { throw ChainError.reentrant }
    return try await operation()
  }

  /// Whether this run waits for another, directly or through others, or is the other.
  func waits(for other: RunCore) -> Bool {
    var seen: Set<ObjectIdentifier> = []
    var next = [self]
    while let run = next.popLast() {
      if run === other { return true }
      if seen.insert(ObjectIdentifier(run)).inserted { next += run.blockers }
    }
    return false
  }

  /// The runs that must end before this one can go on.
  private var blockers: [RunCore] {
    let (slot, waits) = state.withLock { state in
      var waits: [Wait] = []
      state.waits.forEach { _, wait in waits.append(wait) }
      return (state.slot, waits)
    }
    let awaited = waits.filter { $0.task?.isAwaited ?? true }.map(\.run)
    return slot == .waiting ? awaited + (gate?.insiders ?? []) : awaited
  }
}
