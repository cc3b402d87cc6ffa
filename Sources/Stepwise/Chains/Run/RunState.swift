// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// What is shared about a run with its own task, by that task, the run's handle, and what cancels it or waits for it.
///
/// It does not retain the chain, so the handle of a completed run retains no step.
final class RunState: CancellationSource, AnyBox {
  private struct State: ~Copyable {
    var machine = RunMachine()
    var task: Task<Void, any Error>?
    /// Released on completion, so that the handle of a completed run retains nothing else.
    var handlers: (any RunHandlers)?
    var slot = Slot.none
    var waits = OrderedSlots<Wait>()
    var enclosing: RunState?
    /// The input until the run begins, and the output once it has ended.
    var value: ValueSlot?
    var end: End?
    var undos: [UndoStack.Entry] = []
    /// Whether no one will ask for the output any more.
    var isForgotten = false
  }

  /// The state of the run at its gate.
  enum Slot {
    case none
    case waiting(GateID)
    case held(GateID)

    var isWaiting: Bool { if case .waiting = self { true } else { false } }
    var isHeld: Bool { if case .held = self { true } else { false } }
  }

  /// A run that this one waits for.
  private struct Wait {
    let run: RunState
    /// The waiting task, if it is not the run's own.
    let task: AwaitedTask?
  }

  /// How the run has ended.
  struct End: Sendable {
    let outcome: Outcome<Void>
    /// The step that failed, if it ended with an error of its own and was no step of another run.
    let failedStep: ChainStep?
  }

  /// The identity of the program of the run's chain.
  let program: ObjectIdentifier
  /// How it enters its gate; nil without one.
  let entrance: Entrance?
  /// Settled when the gate admits the run.
  let admission = OnceCell<Void>()
  /// Settled when the run has completed, before its events end.
  let completion = OnceCell<Void>()
  /// Nil when no step can be undone.
  let undoLog: UndoLog?
  private let state: Lock<State>
  private let flag = Atomic(false)
  private let begun = Atomic(0)

  /// - Parameters:
  ///   - program: The program of the run's chain, which is not retained.
  ///   - entrance: How it enters its gate, if there is one.
  ///   - input: The input of the first step.
  ///   - enclosing: The run whose task awaits this one.
  ///   - handlers: Its own handlers, in addition to those of the chain.
  init(
    of program: Program,
    entrance: Entrance?,
    input: consuming ValueSlot,
    inside enclosing: RunState? = nil,
    handlers: (any RunHandlers)? = nil
  ) {
    state = Lock(State(handlers: handlers, enclosing: enclosing, value: input))
    self.program = ObjectIdentifier(program)
    self.entrance = entrance
    undoLog = program.canUndo ? UndoLog() : nil
  }

  var isCancellationRequested: Bool { flag.load(ordering: .acquiring) }
  var request: Cancellation? { isCancellationRequested ? state.withLock { $0.machine.request } : nil }
  var handlers: (any RunHandlers)? { state.withLock { $0.handlers } }
  var isOver: Bool { state.withLock { $0.machine.isOver } }

  /// Returns whether this call cancelled the run.
  @discardableResult
  func cancel(reason: String?) -> Bool {
    handlers?.silence()
    let (isFirst, task): (Bool, Task<Void, any Error>?) = state.withLock { state in
      guard state.machine.requestCancellation(Cancellation(reason: reason)) else { return (false, nil) }
      flag.store(true, ordering: .releasing)
      return (true, state.task)
    }
    if isFirst { CancellationCount.increment() }
    // It leaves the queue now, not when its task has noticed.
    if isFirst, case .waiting(let place) = slot { entrance?.gate.withdraw(CollectionOfOne(place)) }
    task?.cancel()
    return isFirst
  }

  /// Sets the run's task, and cancels it if the run was cancelled before.
  func attach(_ task: Task<Void, any Error>) {
    let isLate = state.withLock { state in
      if state.machine.isOpen { state.task = task }
      return state.machine.isInterrupted
    }
    if isLate { task.cancel() }
  }

  /// The identifier of the run's own task; 0 before it has started.
  var task: Int { begun.load(ordering: .acquiring) }

  /// Called by the run's own task.
  func begin() { begun.store(Platform.currentTask, ordering: .releasing) }

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

  // MARK: - Values

  /// Removes the input, or the output; empty when it was removed before.
  func takeValue() -> ValueSlot { state.withLock { $0.value.take() } ?? ValueSlot() }

  /// Stores how the run ends, and its output unless no one will ask for it.
  ///
  /// - Parameters:
  ///   - end: How it ends.
  ///   - slot: The output, if it has one.
  ///   - undos: How to undo what it completed, for the run of which it is a step.
  func keep(_ end: End, _ slot: consuming ValueSlot, undos: [UndoStack.Entry]) {
    var output: ValueSlot? = slot
    switch end.outcome {
    case .resolved: break
    case .failed, .cancelled: output = nil
    }
    // Returns an input that no step has taken, to release it outside the lock.
    _ = state.withLock { state -> ValueSlot? in
      state.end = end
      state.undos = undos
      let input = state.value.take()
      if !state.isForgotten { state.value = output.take() }
      return input
    }
  }

  /// Removes and returns how to undo what the run completed, newest last.
  ///
  /// Empty unless the run was a step of another one, to which they belong.
  func takeUndos() -> [UndoStack.Entry] { state.withLock { exchange(&$0.undos, with: []) } }

  /// The run has completed, including its handlers.
  func complete() {
    // Released outside the lock.
    _ = state.withLock { state in
      state.machine.end()
      return state.handlers.take()
    }
  }

  /// Releases the output, which no one will ask for.
  func forget() {
    _ = state.withLock { state -> ValueSlot? in
      state.isForgotten = true
      return state.machine.isClosed ? state.value.take() : nil
    }
  }

  /// How the run has ended; nil while it is in flight.
  var end: End? { state.withLock { $0.machine.isOver ? $0.end : nil } }

  /// Removes the output of a run that has ended.
  ///
  /// - Throws: The error of the run.
  func takeOutput<Value: Sendable>(as type: Value.Type = Value.self) throws -> Value {
    try end?.outcome.get()
    var slot = takeValue()
    return slot.take()
  }

  /// The outcome, once the run has ended.
  func outcome<Value: Sendable>(as type: Value.Type = Value.self) -> Outcome<Value>? {
    state.withLock { state in
      guard state.machine.isOver, let outcome = state.end?.outcome else { return nil }
      switch outcome {
      case .resolved: return (state.value?.copy(as: Value.self)).map { .resolved($0) }
      case .failed(let error): return .failed(error)
      case .cancelled(let cancellation): return .cancelled(cancellation)
      }
    }
  }

  /// A copy of the output, with its type erased.
  var any: any Sendable { state.withLock { $0.value?.erased ?? () } }

  // MARK: - Waiting

  var slot: Slot {
    get { state.withLock { $0.slot } }
    set { state.withLock { $0.slot = newValue } }
  }

  /// The innermost run in flight whose task awaits this one.
  ///
  /// Those that have ended are left out for good, so that runs that start each other without end need no memory.
  var enclosing: RunState? {
    while true {
      guard let outer = state.withLock({ $0.enclosing }), outer.isOver else { return state.withLock { $0.enclosing } }
      let next = outer.state.withLock { $0.enclosing }
      _ = state.withLock { exchange(&$0.enclosing, with: next) }
    }
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
    guard let scope = CancellationScope.current, scope.isAwaited, let waiter = scope.innermostRun else {
      return try await operation()
    }
    let wait = Wait(run: self, task: scope.awaitedTask)
    let key = waiter.state.withLock { $0.waits.append(wait) }
    defer { _ = waiter.state.withLock { $0.waits.remove(key) } }
    if waits(for: waiter) { throw ChainError.reentrant }
    return try await operation()
  }

  /// Returns whether this run waits for another, directly or through others, or is that run.
  func waits(for other: RunState) -> Bool {
    var seen: Set<ObjectIdentifier> = []
    var next = [self]
    while let run = next.popLast() {
      if run === other { return true }
      if seen.insert(ObjectIdentifier(run)).inserted { next += run.blockers }
    }
    return false
  }

  /// The runs that must complete before this one can continue.
  private var blockers: [RunState] {
    let (slot, waits) = state.withLock { state in
      var waits: [Wait] = []
      state.waits.forEach { _, wait in waits.append(wait) }
      return (state.slot, waits)
    }
    let awaited = waits.filter { $0.task?.isAwaited ?? true }.map(\.run)
    // One that is cancelled leaves the queue.
    guard !isCancellationRequested else { return awaited }
    return slot.isWaiting ? awaited + (entrance?.gate.blockers ?? []) : awaited
  }
}

extension CancellationScope {
  /// The innermost run with its own task whose steps the current task, or the one that created it, belongs to.
  var innermostRun: RunState? { run as? RunState }

  /// The runs with their own task around the current one, innermost first; those that have ended may be left out.
  var runs: some Sequence<RunState> {
    sequence(state: innermostRun) { next in
      defer { next = next?.enclosing }
      return next
    }
  }
}
