// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// How a run enters a gate: that of its chain, or that of a queue of jobs.
struct Entrance: Sendable {
  let gate: Gate
  let mode: GateMode
  var priority = 0
}

/// A gate with a number of slots: first come, first served within a priority.
final class Gate: Sendable {
  private let machine: Lock<GateMachine<StartedRun>>
  /// Whether a run inside keeps all others out.
  let hasOneSlot: Bool

  init(slots: Int) {
    machine = Lock(GateMachine(slots: slots))
    hasOneSlot = slots <= 1
  }

  func arrive(_ run: StartedRun, mode: GateMode, priority: Int = 0) -> GateMachine<StartedRun>.ArriveAction {
    machine.withLock { $0.arrive(run, mode: mode, priority: priority) }
  }

  var entrants: [(id: GateID, entrant: StartedRun)] { machine.withLock { $0.entrants } }

  /// Removes waiting runs from the queue, all at one instant.
  func withdraw(_ ids: some Sequence<GateID>) {
    machine.withLock { machine in
      for id in ids { machine.withdraw(id) }
    }
  }

  func leave(_ id: GateID) { change { $0.leave(id) } }

  func isInside(_ id: GateID) -> Bool { machine.withLock { $0.isInside(id) } }

  func isWaiting(_ id: GateID) -> Bool { machine.withLock { $0.isWaiting(id) } }

  func suspend() { machine.withLock { $0.suspend() } }

  func resume() { change { $0.resume() } }

  private func change(_ admit: (inout GateMachine<StartedRun>) -> [StartedRun]) {
    for run in machine.withLock({ admit(&$0) }) { run.admit() }
  }
}

/// What is shared about a run with its own task, by that task, the run's handle, and what cancels it or waits for it.
///
/// It does not retain the chain, so the handle of a completed run retains no step.
// Safety: it has constants, atomics and locks alone, and so has its only subclass, `JobLaunch`.
@usableFromInline class StartedRun: AnyBox, @unchecked Sendable {
  private struct State: ~Copyable {
    var machine = RunMachine()
    var task: Task<Void, any Error>?
    var gateID: GateID?
    /// Settled when the gate admits the run; created by the first who needs it.
    var admission: Once<Void>?
    var undos: UndoStack?
    var enclosing: StartedRun?
    /// The input until the run begins, and the output once it has completed.
    var value: ValueSlot?
    /// The step that the run failed at, as soon as that is decided.
    var failedStep: ChainStep?
    /// How the run has completed; nil while it is in flight.
    var outcome: Outcome<Void>?
    /// Whether no one can read the output any more.
    var isForgotten = false
  }

  /// How it enters its gate; nil without one.
  let entrance: Entrance?
  let journal: (any RunJournal)?
  /// Settled when the run has completed, before its events end.
  let completion = OnceCell<Void>()
  private let state: Lock<State>
  private let flag = Atomic(false)
  /// Cancelled with the run, for what waits in other tasks than its own.
  let interruption = LazyToken()

  init(
    entrance: Entrance?,
    input: consuming ValueSlot,
    inside enclosing: StartedRun? = nil,
    journal: (any RunJournal)? = nil
  ) {
    self.journal = journal
    state = Lock(State(enclosing: enclosing, value: input))
    self.entrance = entrance
  }

  var isCancellationRequested: Bool { flag.load(ordering: .acquiring) }
  var request: Cancellation? { isCancellationRequested ? state.withLock { $0.machine.request } : nil }
  var isOver: Bool { state.withLock { $0.outcome != nil } }
  /// Whether the run waits for nothing before its first step.
  var isDirect: Bool { entrance == nil && journal == nil && !isCancellationRequested }

  /// Returns whether this call cancelled the run; one with a journal only stops, and can be resumed.
  @discardableResult
  func cancel(reason: String?) -> Bool {
    journal?.stop()
    return interrupt(reason: reason)
  }

  /// Returns whether this call cancelled the run for good.
  func cancelForGood(reason: String?) -> Bool { journal?.cancel(reason: reason) ?? cancel(reason: reason) }

  private func interrupt(reason: String?) -> Bool {
    let (isFirst, task): (Bool, Task<Void, any Error>?) = state.withLock { state in
      guard state.machine.requestCancellation(Cancellation(reason: reason)) else { return (false, nil) }
      flag.store(true, ordering: .releasing)
      return (true, state.task)
    }
    if isFirst { CancellationCount.increment() }
    // It leaves the queue now, not when its task has noticed.
    if isFirst, let gateID { entrance?.gate.withdraw(CollectionOfOne(gateID)) }
    task?.cancel()
    if isFirst { interruption.ifMade?.cancel() }
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

  /// Decides the outcome, with the error of a step.
  ///
  /// A request from another source counts if the run itself was not cancelled.
  func close(with error: (any Error)?, cancelledBy request: Cancellation?) -> Outcome<Void> {
    state.withLock { state in
      if let request { _ = state.machine.requestCancellation(request) }
      state.task = nil
      return state.machine.close(with: error)
    }
  }

  // MARK: - Values

  /// Removes the input, or the output; empty when it was removed before.
  func takeValue() -> ValueSlot { state.withLock { $0.value.take() } ?? ValueSlot() }

  /// The run has completed, including its handlers, with an output unless no one can read that.
  func complete(_ outcome: Outcome<Void>, _ slot: consuming ValueSlot) {
    var output: ValueSlot? = slot
    state.withLock { state in
      state.outcome = outcome
      if case .resolved = outcome, !state.isForgotten { state.value = output.take() }
    }
  }

  /// Waits for a slot at the gate and takes the input from the journal, or the output of a run that has ended before.
  ///
  /// - Returns: How the run has ended before; nil when it begins, or when an error ends it before its first step.
  func prepare(_ slot: inout ValueSlot, failure: inout (any Error)?) async -> Outcome<Void>? {
    func put<Value: Sendable>(_ value: Value) { slot = ValueSlot(value) }
    do {
      if entrance != nil { try await waitForAdmission() }
      if isCancellationRequested { throw CancellationError() }
      switch try await journal?.begin({ [weak self] reason in _ = self?.interrupt(reason: reason) }) {
      case nil: return nil
      case .input(let input): put(input)
      case .ended(let outcome):
        if case .resolved(let output) = outcome { put(output) }
        return outcome.map { _ in }
      }
    } catch {
      failure = error
    }
    return nil
  }

  /// Stores the input of a run that was created without one.
  func put(_ input: consuming ValueSlot) {
    var input: ValueSlot? = input
    state.withLock { $0.value = input.take() }
  }

  var hasHandlers: Bool { false }

  /// Calls the run's own handlers, after those of the chain; the completion is delivered after this returns.
  func conclude(_ outcome: Outcome<Void>, with output: borrowing ValueSlot) async {}

  /// Releases the output, which no one can read any more.
  func forget() {
    _ = state.withLock { state -> ValueSlot? in
      state.isForgotten = true
      return state.outcome == nil ? nil : state.value.take()
    }
  }

  var completed: Outcome<Void>? { state.withLock { $0.outcome } }

  /// The step that the run failed at; nil while it is in flight.
  var failedStep: ChainStep? {
    get { state.withLock { $0.outcome == nil ? nil : $0.failedStep } }
    set { state.withLock { $0.failedStep = newValue } }
  }

  /// Removes the output of a run that has completed, or throws its error.
  func takeOutput<Value: Sendable>(as type: Value.Type = Value.self) throws -> Value {
    try completed?.get()
    var slot = takeValue()
    return slot.take()
  }

  /// Returns a copy of the output of a run that has completed and whose output is not released, or throws its error.
  func output<Value: Sendable>(as type: Value.Type = Value.self) throws -> Value {
    try state.withLock { state in
      try state.outcome?.get()
      // An optional of the value would have its type looked up.
      switch state.value {
      case .some(let output) where state.outcome != nil: return output.copy(as: Value.self)
      // Safety: Callers have waited for the completion, and release the output themselves or retain the run's handle.
      default: preconditionFailure("The output of a run was read before its end or after its release.")
      }
    }
  }

  func outcome<Value: Sendable>() -> Outcome<Value> {
    do {
      return .resolved(try output())
    } catch {
      if case .cancelled(let cancellation) = completed { return .cancelled(cancellation) }
      return .failed(error)
    }
  }

  /// A copy of the output, with its type erased.
  @usableFromInline var any: any Sendable { state.withLock { $0.value?.erased ?? () } }

  /// What to undo and what could not be undone; created when it is first needed.
  var undos: UndoStack { state.withLock { $0.undos.stored(or: UndoStack()) } }

  var undoErrors: [UndoError] { state.withLock { $0.undos }?.failures ?? [] }

  // MARK: - Waiting

  /// Its position at the gate: a slot, or one in the queue, until it leaves.
  private var gateID: GateID? {
    get { state.withLock { $0.gateID } }
    set { state.withLock { $0.gateID = newValue } }
  }

  /// Whether it waits for a slot.
  var isWaiting: Bool { gateID.map { entrance?.gate.isWaiting($0) ?? false } ?? false }

  /// Whether it holds a slot, or needs none.
  var isAdmitted: Bool { entrance.map { entrance in gateID.map(entrance.gate.isInside) ?? false } ?? true }

  /// Requests a slot at the gate, if there is one, and cancels a run that is refused or displaced, for a reason.
  func enterGate(reason: String) {
    guard let entrance else { return }
    switch entrance.gate.arrive(self, mode: entrance.mode, priority: entrance.priority) {
    case .admit(let id): gateID = id
    case .refuse: cancel(reason: reason)
    case .wait(let id, let displaced):
      for run in displaced { run.cancel(reason: reason) }
      gateID = id
    }
  }

  private var admission: Once<Void> { state.withLock { $0.admission.stored(or: Once()) } }

  func admit() { admission.settle(()) }

  /// Waits until the gate admits the run; one whose waiting task is cancelled leaves the queue.
  func waitForAdmission() async throws {
    // One that was withdrawn is about to be cancelled.
    if gateID != nil, !isAdmitted, await admission.value() == nil { leaveGate() }
  }

  /// Frees the slot, or leaves the queue.
  func leaveGate() { if let gateID { entrance?.gate.leave(gateID) } }

  /// The innermost run in flight that awaits this one.
  ///
  /// Those that have ended are left out for good, so that runs that start each other without end need no memory.
  var enclosing: StartedRun? {
    while true {
      guard let outer = state.withLock({ $0.enclosing }), outer.isOver else { return state.withLock { $0.enclosing } }
      let next = outer.state.withLock { $0.enclosing }
      _ = state.withLock { exchange(&$0.enclosing, with: next) }
    }
  }

  /// Whether the run holds the only slot of a gate.
  func blocks(_ other: Entrance?) -> Bool {
    guard let gate = other?.gate, gate === entrance?.gate, gate.hasOneSlot else { return false }
    return isAdmitted && !isOver
  }
}

/// Decides the outcome of a run.
///
/// Sources of cancellation request it; the result of the last step or attempt closes the run, once. From then on
/// nothing changes the outcome, neither during undos and handlers nor afterwards.
struct RunMachine {
  /// Whether the outcome is decided; handlers may still run.
  private var isClosed = false
  /// The cancellation of the run, if it was requested in time.
  private(set) var request: Cancellation?

  var isOpen: Bool { !isClosed && request == nil }

  /// Whether cancellation was requested and the run continues.
  var isInterrupted: Bool { !isClosed && request != nil }

  /// Returns whether this call cancelled the run.
  mutating func requestCancellation(_ request: Cancellation) -> Bool {
    guard isOpen else { return false }
    self.request = request
    return true
  }

  /// Closes the run: with an error, or otherwise with the value of the last step.
  mutating func close(with error: (any Error)?) -> Outcome<Void> {
    isClosed = true
    return Outcome(error, cancelledBy: request)
  }
}
