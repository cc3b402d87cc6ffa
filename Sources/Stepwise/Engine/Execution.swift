// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// One run of one chain, in its own task: its state, what it is part of, what is inside of it, and what it has completed.
///
/// When it has completed it does not retain the chain, so the handle of a completed run retains no step.
@usableFromInline
// Safety: it has constants, atomics and locks alone, and so have its subclasses.
package class Execution: AnyBox, @unchecked Sendable {
  struct State: ~Copyable {
    var machine: RunMachine
    /// Nil once the run has completed: a task that a step created may live on, and retains the run.
    var core: ChainCore?
    /// The input until the run begins, and the output once it has completed.
    var value: ValueSlot?
    /// Whether no one can read the output any more.
    var isForgotten = false
    var stepIndex: Int
    /// The calls of `step` that have thrown, oldest first, up to a limit.
    var failedCalls: [FailedCall] = []
    /// The step that the run failed at, as soon as that is decided.
    var failedStep: ChainStep?
    /// The fork into the chains that form, or formed last, a step of this run.
    var fork: Fork?
    var undos: UndoStack?
    /// What the gate knows it by, until it leaves.
    var gateID: GateID?
    /// Settled when the gate admits the run; created by the first who needs it.
    var admission: Once<Void>?
    var caller: Execution?
    var ties = Ties()
    /// The task, until it is cancelled or the outcome is decided.
    var task: Task<Void, any Error>?
    /// Whether the task was, or is to be, cancelled.
    var isInterrupted = false
    var targets = OrderedSlots<Target>()
  }

  let state: Lock<State>
  /// Whether a request is stored; checked before each step, for which a lock would take ten times as long.
  let requestFlag = Atomic(false)
  /// How it enters its gate; nil without one.
  let entrance: Entrance?
  /// That of the run that contains it, or that awaits it between two steps.
  let journal: (any RunJournal)?
  /// The journal of the run in a step of which it is awaited, and which stores nothing of it.
  let stepJournal: (any RunJournal)?
  /// Whether the journal is that of this run.
  let ownsJournal: Bool
  let hasHandle: Bool
  /// The tokens and observers around the run.
  private let ownContext: Context?
  /// The step or run that it began inside; nil for most runs.
  let origin: Origin?
  let recording: Recording?
  /// How many runs await it, directly or through others.
  let depth: Int
  /// The calls of `step` in flight, except those that the run may abandon.
  let calls = InFlightCounter()
  /// Whether any attempt in the run has failed.
  let hasFailedAttempt = Atomic(false)
  /// Settled when the run has completed and its events have ended.
  let completion = OnceCell<Void>()

  /// Where a run began: the run that contains it as a step, or the step of another run that awaits it.
  struct Origin: Sendable {
    /// The branch that the run is, in the run that contains it.
    let branch: Branch?
    /// The attempt of the calling run that awaits this one.
    let attempt: Attempt?
    /// The recorded step of another run that awaits the run, and receives its progress as a share of so many steps.
    let recordedStep: RecordedStep?
    let stepCount: Int

    /// Returns nil outside of runs.
    // Not an initializer, which would own, and so retain, what it is given.
    static func make(in scope: Scope, as branch: Branch?, stepCount: Int) -> Origin? {
      guard branch != nil || scope.run != nil else { return nil }
      let container = branch?.container.origin
      return Origin(
        branch: branch,
        attempt: branch == nil ? scope.attempt : nil,
        recordedStep: branch == nil ? scope.recordedStep : container?.recordedStep,
        stepCount: container?.stepCount ?? stepCount
      )
    }
  }

  /// Creates a run that the current task awaits or, with a recorder, one that belongs to a handle.
  init(
    _ core: ChainCore,
    entrance: Entrance?,
    input: consuming ValueSlot,
    as branch: Branch? = nil,
    with journal: (any RunJournal)? = nil,
    around outerJournal: (any RunJournal)? = nil,
    for recorder: RunRecorder? = nil,
    hasHandle: Bool? = nil,
    isRecorded: Bool = true
  ) {
    let scope = Scope.current
    let hasHandle = hasHandle ?? (recorder != nil)
    let context = hasHandle ? scope.context?.ofStartedRuns : scope.context
    let caller = hasHandle ? nil : scope.runInFlight
    origin = hasHandle ? nil : .make(in: scope, as: branch, stepCount: core.stepCount)
    let isInStep = outerJournal?.isInStep ?? false
    self.journal = branch?.container.journal ?? journal ?? (isInStep ? nil : outerJournal)
    stepJournal = branch?.container.stepJournal ?? (isInStep ? outerJournal : nil)
    ownsJournal = journal != nil
    self.hasHandle = hasHandle
    recording = isRecorded ? Self.recording(of: core, recorder, as: branch, in: context?.observation) : nil
    depth = caller.map { $0.depth + 1 } ?? 0
    self.entrance = entrance
    let machine = RunMachine(isGated: entrance != nil)
    let first = branch?.firstStep ?? 0
    state = Lock(State(machine: machine, core: core, value: input, stepIndex: first, caller: consume caller))
    ownContext = consume context
  }

  deinit {
    // Released in a loop instead of recursively: a task may outlive thousands of runs around it.
    var next = state.withLock { $0.caller.take() }
    while isKnownUniquelyReferenced(&next) { next = next?.state.withLock { $0.caller.take() } }
  }

  /// Returns nil when nothing records a run that starts.
  private static func recording(
    of chain: ChainCore,
    _ own: RunRecorder?,
    as branch: Branch?,
    in observation: ObservationScope?
  ) -> Recording? {
    if let branch, let outer = branch.recording {
      return outer.nested(chain.summary, branch.fork.nesting, firstStep: branch.firstStep)
    }
    var recorder = own
    if own == nil, let watch = RunWatch.make(for: chain.summary, chain.identity.observers, in: observation) {
      recorder = RunRecorder(of: chain.summary, firstStep: branch?.firstStep ?? 0, watch)
    }
    return recorder.map { Recording($0) }
  }

  /// Whether a journal knows the steps of the run, or is that of a step around them.
  final var isJournaled: Bool { journal != nil || stepJournal != nil }
  final var core: ChainCore? { state.withLock { $0.core } }
  /// The tokens around the run, and the observers of what starts in it.
  final var context: Context? { recording?.observation.map { (ownContext ?? .empty).observed(by: $0) } ?? ownContext }
  final var branch: Branch? { origin?.branch }
  /// The run that contains this one as a step.
  final var container: Execution? { branch?.container }
  /// The index of the chain's first step in events.
  final var firstStep: Int { branch?.firstStep ?? 0 }
  final var isCompleted: Bool { completed != nil }
  final var completed: Outcome<Void>? { state.withLock { $0.machine.outcome } }

  /// The innermost run in flight that awaits this one.
  ///
  /// Those that have ended are left out for good, so that runs that start each other without end need no memory.
  final var caller: Execution? {
    while true {
      guard let ended = state.withLock({ $0.caller }), ended.isCompleted else { return state.withLock { $0.caller } }
      let next = ended.state.withLock { $0.caller }
      _ = state.withLock { exchange(&$0.caller, with: next) }
    }
  }

  /// Whether other runs join it, which are counted instead of it.
  var isCoalesced: Bool { false }

  // MARK: - Handlers of a job

  var hasOwnHandlers: Bool { false }

  /// Calls the run's own handlers, after those of the chain; the completion is delivered after this returns.
  func callOwnHandlers(for outcome: Outcome<Void>, with output: borrowing ValueSlot) async {}

  /// Waits until the gate admits the run; one whose waiting task is cancelled leaves the queue.
  func waitForAdmission() async throws {
    // One that was withdrawn is about to be cancelled.
    guard state.withLock({ $0.gateID }) != nil, !isAdmitted, await admission.value() == nil else { return }
    if state.withLock({ $0.machine.leaveQueue() }) { leaveGate() }
  }

  /// Returns whether this call has cancelled the run; one with a journal only stops, and can be resumed.
  @discardableResult
  func cancel(_ request: CancellationRequest) -> Bool {
    if ownsJournal { journal?.stop(isOfChain: request.isOfChain) }
    return interrupt(request)
  }

  /// A copy of the output, with its type erased.
  @usableFromInline package final var any: any Sendable { state.withLock { $0.value?.erased ?? () } }
}

// MARK: - The gate

extension Execution {
  /// Whether it waits for its gate.
  var isWaiting: Bool { state.withLock { $0.machine.isWaiting } }

  /// Whether it has passed its gate, or needs to pass none.
  var isAdmitted: Bool { state.withLock { $0.machine.isAdmitted } }

  /// Arrives at the gate, if there is one, and cancels a run that is refused or displaced.
  func enterGate() {
    guard let entrance else { return }
    let request = CancellationRequest(.overlapPolicy, reason: entrance.policy)
    switch entrance.gate.arrive(self, by: entrance) {
    case .admit(let id):
      state.withLock { state in
        state.gateID = id
        state.machine.admit()
      }
    case .refuse: cancel(request)
    case .wait(let id, let displaced):
      for run in displaced { run.cancel(request) }
      state.withLock { $0.gateID = id }
    }
  }

  private var admission: Once<Void> { state.withLock { $0.admission.stored(or: Once()) } }

  func admit() {
    state.withLock { $0.machine.admit() }
    admission.settle(())
  }

  /// Makes room at the gate, or leaves its queue.
  func leaveGate() { if let id = state.withLock({ $0.gateID }) { entrance?.gate.leave(id) } }

  /// Whether the run takes up room at a gate.
  func occupies(_ gate: Gate) -> Bool { gate === entrance?.gate && isAdmitted && !isCompleted }
}

// MARK: - Values

extension Execution {
  /// Stores the input of a run that was created without one.
  func put(_ input: consuming ValueSlot) {
    var input: ValueSlot? = input
    state.withLock { $0.value = input.take() }
  }

  /// Removes the input, or the output; empty when it was removed before.
  func takeValue() -> ValueSlot { state.withLock { $0.value.take() } ?? ValueSlot() }

  /// A slot with a copy of the output.
  func copyOutput() -> ValueSlot {
    let copy: ValueSlot? = state.withLock { state in
      switch state.value {
      case .some(let output): return output.copied()
      case nil: return nil
      }
    }
    return copy ?? ValueSlot()
  }

  /// Removes the output of a run that has completed, or throws its error.
  @usableFromInline
  func takeOutput() throws -> ValueSlot {
    try completed?.get()
    return takeValue()
  }

  /// Releases the output, which no one can read any more.
  func forget() {
    _ = state.withLock { state -> ValueSlot? in
      state.isForgotten = true
      return state.machine.outcome == nil ? nil : state.value.take()
    }
  }

  /// Returns a copy of the output of a run that has completed and whose output is not released, or throws its error.
  func output<Value: Sendable>() throws -> Value {
    try state.withLock { state in
      let outcome = state.machine.outcome
      try outcome?.get()
      // An optional of the value would have its type looked up.
      switch state.value {
      case .some(let output) where outcome != nil: return output.copy(as: Value.self)
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
}

// MARK: - Undos

extension Execution {
  /// What to undo, created when it is first needed.
  var undos: UndoStack { state.withLock { $0.undos.stored(or: UndoStack()) } }

  var undosIfAny: UndoStack? { state.withLock { $0.undos } }

  /// The errors of the undos of this run and of its branches.
  var undoErrors: [UndoError] { undosIfAny?.errors ?? [] }

  /// Those that the handlers have not received.
  var unreportedUndoErrors: [UndoError] { undosIfAny?.unreported ?? [] }
}

// MARK: - The current step

extension Execution {
  /// The current step, the first one of concurrent chains; the step that ended last when none is running.
  var currentStep: ChainStep {
    var run = self
    while let inner = run.state.withLock({ $0.fork })?.firstRunning { run = inner }
    return run.plannedStep
  }

  /// The step whose error ends the run: a call of `step` that threw it, or the planned step that began last; of chains
  /// that ran as a step, their step that ended them.
  func failedStep(with error: any Error) -> ChainStep { failedCall(with: error)?.step ?? plannedStep }

  private var plannedStep: ChainStep {
    let (core, index) = state.withLock { ($0.core, $0.stepIndex) }
    return ChainStep(index: index, name: core?.name(at: index - firstStep))
  }

  /// Reports the progress of this run as that of the step that runs it, after a step has ended.
  func reportEnd(ofStep index: Int) { if origin != nil { report(index + 1) } }

  // Kept out of the stack frame.
  @inline(never)
  private func report(_ count: Int) {
    guard let origin, let step = origin.recordedStep else { return }
    step.report(Double(count) / Double(max(1, origin.stepCount)))
  }

  /// The index in events of the planned step that began last.
  var stepIndex: Int {
    get { state.withLock { $0.stepIndex } }
    set { state.withLock { $0.stepIndex = newValue } }
  }

  /// A call of `step` has thrown.
  func failCall(_ name: String, _ error: any Error) {
    let step = ChainStep(index: stepIndex, name: name)
    add(FailedCall(step: step, error: error, isInterrupted: Task.isCancelled))
  }

  /// A step of the run that this one waits for has failed.
  func fail(at step: ChainStep, _ error: any Error) {
    let index = firstStep + step.index
    stepIndex = index
    add(FailedCall(step: ChainStep(index: index, name: step.name), error: error, isInterrupted: false))
  }

  private func add(_ call: FailedCall) {
    // An error that is dropped is released outside of the lock.
    _ = state.withLock { state in
      state.failedCalls.append(call)
      return state.failedCalls.count > FailedCall.limit ? state.failedCalls.removeFirst() : nil
    }
  }

  private func failedCall(with error: any Error) -> FailedCall? {
    let (calls, index) = state.withLock { ($0.failedCalls, $0.stepIndex) }
    return FailedCall.newest(of: calls, with: error, at: index)
  }

  /// Why a call of `step` may not begin: the run is cancelled, decided or has abandoned the work, or it has ended.
  ///
  /// Code that has outlived its run is not cancelled, and a loop would take the error for its own cancellation.
  func refusal(in attempt: Attempt?) -> any Error {
    let hasEnded = isCompleted && !Task.isCancelled && attempt?.isAbandoned != true
    let isAbandoned = sequence(first: self, next: \.container).contains { $0.origin?.attempt?.isAbandoned ?? false }
    return hasEnded && !isAbandoned ? ChainError.runHasEnded : CancellationError()
  }

  func setFork(_ new: Fork?) { _ = state.withLock { exchange(&$0.fork, with: new) } }

  /// The step that the run failed at; nil while it is in flight.
  var failedStep: ChainStep? {
    get { state.withLock { $0.machine.outcome == nil ? nil : $0.failedStep } }
    set { state.withLock { $0.failedStep = newValue } }
  }
}

// MARK: - From the first step to the end

extension Execution {
  /// Whether the run waits for nothing before its first step.
  var isDirect: Bool { entrance == nil && !ownsJournal && !hasRequest }

  /// Waits for the gate and takes the input from the journal.
  ///
  /// - Returns: The outcome of a run that does not begin here, and so has no handlers to call: it has ended before, or the
  ///   journal cannot begin it. Nil when the run begins, or when its cancellation ends it before its first step.
  func prepare(_ slot: inout ValueSlot, error pendingError: inout (any Error)?) async -> Outcome<Void>? {
    do {
      if entrance != nil { try await waitForEntry() }
      if hasRequest { throw CancellationError() }
    } catch {
      pendingError = error
      return nil
    }
    guard ownsJournal, let journal else { return nil }
    return await begin(journal, &slot, error: &pendingError)
  }

  /// Waits for the gate; between the steps of a run with a journal, what follows has its place in the order there.
  private func waitForEntry() async throws {
    guard let journal, !ownsJournal else { return try await waitForAdmission() }
    try await journal.offExecutor(isOrdered: true) { await Result.of { try await self.waitForAdmission() } }.get()
  }

  private func begin(
    _ journal: any RunJournal,
    _ slot: inout ValueSlot,
    error pendingError: inout (any Error)?
  ) async -> Outcome<Void>? {
    func put<Value: Sendable>(_ value: Value) { slot = ValueSlot(value) }
    let interrupt: @Sendable (String?) -> Void = { [weak self] reason in
      _ = self?.interrupt(CancellationRequest(.journal, reason: reason))
    }
    do {
      switch try await journal.begin(interrupt) {
      case .input(let input): put(input)
      case .ended(let outcome):
        if case .resolved(let output) = outcome { put(output) }
        return outcome.map { _ in }
      }
    } catch let error where hasRequest {
      pendingError = error
    } catch {
      await journal.end()
      return .failed(error)
    }
    return nil
  }

  /// Decides the outcome of the run for good, after its own last step and before undos and handlers run.
  func decide(with error: (any Error)?) -> Outcome<Void> {
    // Code that cancels its own task cancels the run.
    let isTaskCancelled = error != nil && Task.isCancelled
    let outcome = state.withLock { state in
      if isTaskCancelled { _ = state.machine.requestCancellation(CancellationRequest(.task)) }
      state.task = nil
      return state.machine.decide(with: error)
    }
    if case .failed(let error) = outcome { failedStep = failedStep(with: error) }
    if let branch {
      branch.fork.end(at: branch.index, hasValue: error == nil)
      if !branch.fork.isLost(at: branch.index) {
        branch.container.stepIndex = stepIndex
        if let error, let call = failedCall(with: error) { branch.container.add(call) }
      }
    }
    return outcome
  }

  /// The run has completed, including its handlers, with an output unless no one can read that.
  func complete(_ outcome: Outcome<Void>, _ slot: consuming ValueSlot) {
    var output: ValueSlot? = slot
    let (ties, _, _, _) = state.withLock { state in
      state.machine.complete(outcome)
      if case .resolved = outcome, !state.isForgotten { state.value = output.take() }
      let failed = exchange(&state.failedCalls, with: [])
      return (exchange(&state.ties, with: Ties()), state.core.take(), state.fork.take(), failed)
    }
    ties.release()
  }
}
