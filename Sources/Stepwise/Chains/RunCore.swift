// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A run with its own task, as its sources of cancellation see it.
final class RunCore: CancellationSource {
  private struct State {
    var machine = RunMachine()
    var task: Task<Conclusion, Never>?
    /// Released on completion, so that the handle of a completed run retains nothing else.
    var listener: (any RunListener)?
    var slot = Slot.none
    var waits = OrderedSlots<Wait>()
    var failedStep: ChainStep?
  }

  /// The state of the run at its chain's gate.
  enum Slot {
    case none, waiting, held
  }

  /// A run that this one waits for.
  private struct Wait {
    let run: RunCore
    /// The waiting task, if it is not the run's own.
    let task: AwaitedTask?
  }

  /// The identity of the run's chain, which is not retained: the handle of a completed run retains no step.
  let chainID: ObjectIdentifier
  /// Settled when the gate admits the run; nil without a gate.
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

  /// Returns whether this call cancelled the run.
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

  /// Sets the run's task, and cancels it if the run was cancelled before.
  func attach(_ task: Task<Conclusion, Never>) {
    let isLate = state.withLock { state in
      if state.machine.isOpen { state.task = task }
      return state.machine.isInterrupted
    }
    if isLate { task.cancel() }
  }

  /// Decides the outcome.
  ///
  /// A request from another source counts if the run itself was not cancelled.
  func close(with error: (any Error)?, asked request: Cancellation?) -> Outcome<Void> {
    state.withLock { state in
      if let request { _ = state.machine.requestCancellation(request) }
      state.task = nil
      return state.machine.close(with: error)
    }
  }

  /// The step that failed, if the run has ended with an error of its own.
  var failedStep: ChainStep? { state.withLock { $0.failedStep } }

  func end(failedStep: ChainStep?) {
    _ = state.withLock { state in
      state.machine.end()
      state.failedStep = failedStep
      return state.listener.take()
    }
  }

  // MARK: - Waiting

  var slot: Slot {
    get { state.withLock { $0.slot } }
    set { state.withLock { $0.slot = newValue } }
  }

  /// Awaits this run on behalf of the run that contains the current task, if that run awaits the task.
  ///
  /// Each run registers what it waits for before it checks for a cycle. When runs start to wait for each other at the
  /// same time, at least one of them detects the cycle.
  ///
  /// - Throws: The error of the operation; `ChainError.reentrant` when this run waits for that one.
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

  /// Returns whether this run waits for another, directly or through others, or is that run.
  func waits(for other: RunCore) -> Bool {
    var seen: Set<ObjectIdentifier> = []
    var next = [self]
    while let run = next.popLast() {
      if run === other { return true }
      if seen.insert(ObjectIdentifier(run)).inserted { next += run.blockers }
    }
    return false
  }

  /// The runs that must complete before this one can continue.
  private var blockers: [RunCore] {
    let (slot, waits) = state.withLock { state in
      var waits: [Wait] = []
      state.waits.forEach { _, wait in waits.append(wait) }
      return (state.slot, waits)
    }
    let awaited = waits.filter { $0.task?.isAwaited ?? true }.map(\.run)
    // One that is cancelled leaves the queue.
    guard !isCancellationRequested else { return awaited }
    let ahead = slot == .waiting ? gate?.insiders ?? [] : []
    return awaited + ahead + (listener?.blockers ?? [])
  }
}
