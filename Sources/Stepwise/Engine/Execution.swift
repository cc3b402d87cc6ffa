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
    var chain: DescribedChain?
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
    var fork: Fork<Execution>?
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
  /// Whether it is the run of a progression that no chain of the user runs.
  let isProgression: Bool
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
    of chain: DescribedChain,
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
    origin = hasHandle ? nil : .make(in: scope, as: branch, stepCount: chain.stepCount)
    let isInStep = outerJournal?.isInStep ?? false
    self.journal = branch?.container.journal ?? journal ?? (isInStep ? nil : outerJournal)
    stepJournal = branch?.container.stepJournal ?? (isInStep ? outerJournal : nil)
    ownsJournal = journal != nil
    self.hasHandle = hasHandle
    isProgression = chain.identity.isProgression
    recording = isRecorded ? Self.recording(of: chain, recorder, as: branch, in: context?.observation) : nil
    depth = caller.map { $0.depth + 1 } ?? 0
    self.entrance = entrance
    let machine = RunMachine(isGated: entrance != nil)
    let first = branch?.firstStep ?? 0
    state = Lock(State(machine: machine, chain: chain, value: input, stepIndex: first, caller: consume caller))
    ownContext = consume context
  }

  deinit {
    // Released in a loop instead of recursively: a task may outlive thousands of runs around it.
    var next = state.withLock { $0.caller.take() }
    while isKnownUniquelyReferenced(&next) { next = next?.state.withLock { $0.caller.take() } }
  }

  /// Returns nil when nothing records a run that starts.
  private static func recording(
    of chain: DescribedChain,
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

  /// The run that performs the steps: this one, or the one that it has joined.
  var performing: Execution { self }

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
    if ownsJournal {
      journal?.stop(request.isOfChain ? .chain : .run)
    } else if let journal, request.endsRun || request.isOfChain, request.canceller != RunCode(of: journal) {
      journal.stop(.part)
    }
    return interrupt(request)
  }

  /// A copy of the output, with its type erased.
  @usableFromInline package final var any: any Sendable { state.withLock { $0.value?.erased ?? () } }
}

// MARK: - The current step, and the one that fails

extension Execution {
  /// The index in events of the planned step that began last.
  var stepIndex: Int {
    get { state.withLock { $0.stepIndex } }
    set { state.withLock { $0.stepIndex = newValue } }
  }

  /// Reports the progress of this run as that of the step that runs it, after a step has ended.
  func reportEnd(ofStep index: Int) { if origin != nil { report(index + 1) } }

  // Kept out of the stack frame.
  @inline(never)
  private func report(_ count: Int) {
    guard let origin, let step = origin.recordedStep else { return }
    step.report(Double(count) / Double(max(1, origin.stepCount)))
  }

  /// The step whose error ends the run: a call of `step` that threw it, or the planned step that began last; of chains
  /// that ran as a step, their step that ended them.
  func failedStep(with error: any Error) -> ChainStep { failedCall(with: error)?.step ?? plannedStep }

  var plannedStep: ChainStep {
    let (chain, index) = state.withLock { ($0.chain, $0.stepIndex) }
    return ChainStep(index: index, name: chain?.summary.names[index - firstStep])
  }

  /// The step that the run failed at, as soon as that is decided.
  var failedStep: ChainStep? {
    get { state.withLock { $0.failedStep } }
    set { state.withLock { $0.failedStep = newValue } }
  }

  func add(_ call: FailedCall) {
    // An error that is dropped is released outside of the lock.
    _ = state.withLock { state in
      state.failedCalls.append(call)
      return state.failedCalls.count > FailedCall.limit ? state.failedCalls.removeFirst() : nil
    }
  }

  func failedCall(with error: any Error) -> FailedCall? {
    let (calls, index) = state.withLock { ($0.failedCalls, $0.stepIndex) }
    return FailedCall.newest(of: calls, with: error, at: index)
  }
}

// MARK: - From the first step to the end

extension Execution {
  /// Whether the run waits for nothing before its first step.
  var isDirect: Bool { entrance == nil && !ownsJournal && !hasRequest }

  /// Removes the input, or the output; empty when it was removed before.
  func takeValue() -> ValueSlot { state.withLock { $0.value.take() } ?? ValueSlot() }

  /// What to undo, created when it is first needed.
  var undos: UndoStack { state.withLock { $0.undos.stored(or: UndoStack()) } }

  var undosIfAny: UndoStack? { state.withLock { $0.undos } }

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
      return (exchange(&state.ties, with: Ties()), state.chain.take(), state.fork.take(), failed)
    }
    ties.release()
  }

  /// Removes the output of a run that has completed, or throws its error.
  @usableFromInline
  func takeOutput() throws -> ValueSlot {
    try completed?.get()
    return takeValue()
  }
}

/// One of the chains that form a step of the run that contains it.
struct Branch: Sendable {
  let container: Execution
  let fork: Fork<Execution>
  let recording: Recording?
  /// Its index among the branches of the fork.
  let index: Int
  /// The index of its first step in events.
  let firstStep: Int

  /// Returns the branch that follows this one, which has so many steps.
  func next(after stepCount: Int) -> Branch {
    let next = firstStep + stepCount
    return Branch(container: container, fork: fork, recording: recording, index: index + 1, firstStep: next)
  }
}
