// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// One run of one chain, plain or started: what cancels it, what it is part of, and what it has completed.
@usableFromInline
package final class Execution: Sendable {
  private let state: Lock<State>
  /// What a run with its own task has in addition.
  let started: StartedRun?
  let journal: (any RunJournal)?
  let hasHandle: Bool
  /// The tokens and observers around the run.
  private let ownContext: Context?
  /// The step or run that it began inside; nil for most runs.
  private let origin: Origin?
  let recording: Recording?
  /// Cancelled by `cancelRuns` and by the chain's token; nil for a plain run before the first call of `cancelRuns`.
  let ownGeneration: CancellationToken?
  /// The cancellation count at the last check that found this run and its enclosing runs uncancelled.
  ///
  /// -1 before the first check, and -2 as soon as one has found it cancelled.
  let checkedCount: Atomic<Int>
  /// The calls of `step` in flight, except those that the run may abandon.
  let calls = InFlightCounter()
  private let stepIndex: Atomic<Int>
  private let hasFailedCall = Atomic(false)
  private let hasUndos = Atomic(false)

  private struct State {
    /// Nil once the run has completed: a task that a step created may live on, and retains the run.
    var core: ChainCore?
    /// What was known last of the generation of a run that has none of its own.
    var generation: CancellationToken?
    /// The call of `step` that threw last, unless another step has begun since.
    var failedCall: ChainStep?
    /// The chains that form, or formed last, a step of this run.
    var fork: Fork?
    var undos: UndoStack?
  }

  /// What a run began inside: the run that contains it as a step, or the step of another run that awaits it.
  struct Origin: Sendable {
    /// The relation of the run to the run that contains it as a step.
    let child: Child?
    /// The scope of that run that contains this one.
    let stepScope: StepScope?
    /// The innermost run with its own task that awaits the run.
    let enclosing: StartedRun?
    /// The recorded step of another run that awaits the run, and receives its progress as a share of so many steps.
    let recordedStep: RecordedStep?
    let stepCount: Int

    /// Returns nil outside of runs.
    // Not an initializer, which would own, and so retain, what it is given.
    static func inside(_ scope: Scope, as child: Child?, stepCount: Int) -> Origin? {
      guard child != nil || scope.execution != nil else { return nil }
      let outer = child?.outer.origin
      return Origin(
        child: child,
        stepScope: child == nil ? nil : scope.stepScope,
        enclosing: scope.startedRun,
        recordedStep: child == nil ? scope.recordedStep : outer?.recordedStep,
        stepCount: outer?.stepCount ?? stepCount
      )
    }
  }

  /// Creates a run; the cancellation count was read before its sources of cancellation.
  init(
    _ core: ChainCore,
    _ generation: CancellationToken?,
    started: StartedRun? = nil,
    handle recorder: RunRecorder? = nil,
    in context: Context? = nil,
    from origin: Origin? = nil,
    checked count: Int
  ) {
    let child = origin?.child
    let isCancelled = generation?.isCancelled ?? false || core.tokenIfMade?.isCancelled ?? false
    checkedCount = Atomic(origin == nil && context?.request == nil && !isCancelled ? count : -1)
    journal = child == nil ? started?.journal : child?.outer.journal
    hasHandle = recorder != nil
    recording = Self.recording(of: core, recorder, as: child, in: context?.observation)
    stepIndex = Atomic(child?.firstStep ?? 0)
    // Consumed, as each of them would be retained once more otherwise.
    state = Lock(State(core: consume core))
    ownGeneration = consume generation
    self.started = consume started
    ownContext = consume context
    self.origin = consume origin
    child?.fork.begin(self, at: child?.branch ?? 0)
  }

  /// Returns nil when nothing records a run that starts.
  private static func recording(
    of chain: ChainCore,
    _ own: RunRecorder?,
    as child: Child?,
    in observation: ObservationScope?
  ) -> Recording? {
    if let child, let outer = child.recording {
      return outer.nested(chain.summary, child.fork.nesting, firstStep: child.firstStep)
    }
    var recorder = own
    if own == nil, let watch = RunWatch.make(for: chain.summary, chain.identity.observers, in: observation) {
      recorder = RunRecorder(of: chain.summary, firstStep: child?.firstStep ?? 0, watch)
    }
    return recorder.map { Recording($0) }
  }

  var core: ChainCore? { state.withLock { $0.core } }

  func complete() { _ = state.withLock { $0.core.take() } }

  /// The tokens around the run, and the observers of what starts in it.
  var context: Context? { recording?.scope.map { (ownContext ?? .empty).observed(by: $0) } ?? ownContext }
  var child: Child? { origin?.child }
  var enclosing: StartedRun? { origin?.enclosing }
  var outer: Execution? { child?.outer }

  /// The index of the chain's first step in events.
  var firstStep: Int { child?.firstStep ?? 0 }

  // MARK: - Position

  /// The current step, the first one of concurrent chains; the step that ended last when none is running.
  var currentStep: ChainStep {
    var execution = self
    while let inner = execution.state.withLock({ $0.fork })?.firstRunning { execution = inner }
    return execution.lastPlannedStep
  }

  /// The step that began last; of chains that ran as a step, their step that ended them.
  ///
  /// When the run has failed, that is the step that failed.
  var lastStep: ChainStep { lastFailedCall ?? lastPlannedStep }

  private var lastPlannedStep: ChainStep {
    let index = lastIndex
    return ChainStep(index: index, name: core?.name(at: index - firstStep))
  }

  /// Reports the progress of this run as that of the step that runs it, after a step has ended.
  func reportEnd(ofStep index: Int) { if origin != nil { report(index + 1) } }

  // Kept out of the frame.
  @inline(never)
  private func report(_ count: Int) {
    guard let origin, let step = origin.recordedStep else { return }
    step.report(Double(count) / Double(max(1, origin.stepCount)))
  }

  var lastIndex: Int { stepIndex.load(ordering: .relaxed) }

  func enter(_ index: Int) {
    stepIndex.store(index, ordering: .relaxed)
    enterCall()
  }

  func enterCall() {
    if hasFailedCall.load(ordering: .relaxed) { setFailedCall(nil) }
  }

  /// A call of `step` has thrown.
  ///
  /// An earlier failure stays when its cancellation has interrupted this call.
  func failCall(_ name: String) {
    if Task.isCancelled, hasFailedCall.load(ordering: .acquiring) { return }
    setFailedCall(ChainStep(index: lastIndex, name: name))
  }

  private func setFailedCall(_ call: ChainStep?) {
    state.withLock { $0.failedCall = call }
    hasFailedCall.store(call != nil, ordering: .releasing)
  }

  private var lastFailedCall: ChainStep? {
    hasFailedCall.load(ordering: .acquiring) ? state.withLock { $0.failedCall } : nil
  }

  func setFork(_ new: Fork?) { _ = state.withLock { exchange(&$0.fork, with: new) } }

  // MARK: - Outcome

  /// Decides the outcome of the run for good, after its own last step and before undos and handlers run.
  func close(with error: (any Error)?) -> Outcome<Void> {
    let request = error == nil ? nil : request
    let outcome = started?.close(with: error, cancelledBy: request) ?? Outcome(error, cancelledBy: request)
    if case .failed = outcome { started?.failedStep = lastStep }
    if let child {
      child.fork.end(at: child.branch, hasValue: error == nil)
      if !child.fork.isLost(at: child.branch) {
        child.outer.enter(lastIndex)
        if let failed = lastFailedCall { child.outer.setFailedCall(failed) }
      }
    }
    return outcome
  }

  // MARK: - Undos

  /// What to undo, created when it is first needed.
  var undos: UndoStack {
    state.withLock { state in
      hasUndos.store(true, ordering: .releasing)
      return state.undos.stored(or: started?.undos ?? UndoStack())
    }
  }

  var undosIfAny: UndoStack? { hasUndos.load(ordering: .acquiring) ? undos : nil }

  /// The failed undos of this run and of its nested runs that have not been reported yet.
  var undoErrors: [UndoError] { undosIfAny?.unreported ?? [] }

  /// Undoes steps, newest first, and returns the failures.
  @concurrent func undo(_ undos: [UndoStack.Undo], recording: Recording?) async -> [UndoError] {
    var errors: [UndoError] = []
    await journal?.willUndo(undos.map(\.number))
    for undo in undos {
      do {
        if let journal {
          guard try await journal.undo(undo.number, undo.perform) else { continue }
        } else {
          try await undo.perform()
        }
        recording?.undone(undo.record, undo.step, error: nil)
      } catch {
        recording?.undone(undo.record, undo.step, error: error)
        errors.append(UndoError(chainStep: undo.step, underlyingError: error))
      }
    }
    return errors
  }

  /// Undoes steps, newest first, shielded from cancellation, and stores the failures.
  func undoShielded(_ undos: [UndoStack.Undo], recording: Recording?) async {
    guard !undos.isEmpty else { return }
    await Scope.withCancellationShield { self.keep(await self.undo(undos, recording: recording)) }
  }

  /// Undoes the steps of abandoned work, newest first.
  ///
  /// The run may already have completed, so nothing is recorded and no handler is called; the failures are listed in
  /// `undoErrors`.
  func undoLate(_ undos: [UndoStack.Undo]) async {
    guard !undos.isEmpty else { return }
    await Scope.withCancellationShield {
      let errors = await self.undo(undos, recording: nil)
      for execution in sequence(first: self, next: \.outer) { execution.undos.add(reported: errors) }
    }
  }

  /// Stores failed undos for the handlers of this run and of the runs that contain it.
  func keep(_ errors: [UndoError]) {
    guard !errors.isEmpty else { return }
    for execution in sequence(first: self, next: \.outer) { execution.undos.add(errors) }
  }
}

// MARK: - Cancellation

// What happens on a cancellation during a retried step of a nested chain, in order. What a failed attempt completed is
// undone before the wait for the next one.
//
// 1. `StartedRun.cancel`, a token or `cancelRuns` stores the request, once, and counts it in `CancellationCount`; so
//    does a branch with its decision. A cancelled task interrupts the step; a plain run has a task that `cancelRuns`
//    cancels only if its chain's token was accessed before (`runApart`), and otherwise its step goes on. The wait
//    between two attempts ends as well (`wait` below).
// 2. The step throws, or the wait ends with the error of the last attempt. `retry` makes no further attempt, because
//    `isInterrupted` of the nested run also checks the runs that contain it; what an interrupted attempt completed is
//    undone with the rest. No `recover` replaces the error (`Frame.recover`). If the step returns a value instead, the
//    next step does not begin; after the last step, the chain ends with the value.
// 3. The nested run ends, in `Frame.conclude`: it waits for its calls of `step`, decides its outcome (`close`), undoes
//    its completed steps, newest first, calls `onError` with undos that failed, and then its `finally` handlers. All of
//    that is shielded.
// 4. `ChainCore.check` passes the error of the step on. The outer run ends like the nested one, cancelled for the reason
//    of the request; if only the nested run was cancelled, it fails, and may recover. A run with its own task then
//    leaves its gate and its tokens, and what awaits it resumes (`ChainCore.finish`).
//
// Whether a run should stop, and why: its task, itself, its chain, a token around it, a sibling that has decided their
// step, or a run that contains it.
extension Execution {
  /// Whether the run should stop; checked before each step, and when a step has thrown.
  var isCancellationRequested: Bool { Task.isCancelled || isCancellationRequestedElsewhere }

  /// Whether no further attempt makes sense: the run should stop, or only undoes what it has stored.
  var isInterrupted: Bool { isCancellationRequested || journal?.isUnwinding ?? false }

  /// Whether a source other than the task has cancelled this run or a run that contains it.
  ///
  /// While no cancellation has occurred in the process since the last check, the sources need not be checked again.
  private var isCancellationRequestedElsewhere: Bool {
    let (count, checked) = (CancellationCount.current, checkedCount.load(ordering: .acquiring))
    guard checked != count else { return false }
    if checked == -2 { return true }
    var next: Execution? = self
    while let execution = next, execution.checkedCount.load(ordering: .relaxed) != count {
      if execution.isCancellationRequestedHere {
        // A cancellation is visible before it is counted; a check that did not see it does not hide it any more.
        let reached = sequence(first: self) { $0 === execution ? nil : $0.outer }
        for execution in reached { execution.checkedCount.store(-2, ordering: .releasing) }
        return true
      }
      next = execution.outer
    }
    _ = checkedCount.compareExchange(expected: checked, desired: count, ordering: .relaxed)
    return false
  }

  /// Whether the chain's token is cancelled, which cancels the generation after the handlers that were added before.
  private var isChainCancelled: Bool { core?.tokenIfMade?.isCancelled ?? false }

  /// What cancels the runs of its generation, if anything can; kept, since what the run has abandoned asks it later.
  private var generation: CancellationToken? {
    if let ownGeneration { return ownGeneration }
    return state.withLock { state in
      state.generation = state.core?.firstGenerationIfMade ?? state.core?.tokenIfMade ?? state.generation
      return state.generation
    }
  }
  private var isGenerationCancelled: Bool { generation?.isCancelled ?? false }

  private var isCancellationRequestedHere: Bool {
    if isGenerationCancelled || isChainCancelled { return true }
    if let started, started.isCancellationRequested { return true }
    if let child, child.fork.isLost(at: child.branch) { return true }
    return origin?.stepScope?.isAbandoned ?? false || ownContext?.request != nil
  }

  /// The cancellation of the run; the earliest one as far as that is known.
  var request: Cancellation? {
    if let request = ownRequest { return request }
    guard Task.isCancelled || isCancellationRequestedElsewhere else { return nil }
    return enclosing?.request ?? Cancellation()
  }

  /// The cancellation that was requested of this run, or of a run that contains it, and not only of its task.
  var ownRequest: Cancellation? {
    sequence(first: self, next: \.outer).lazy.compactMap(\.requestToItself).first
  }

  private var requestToItself: Cancellation? {
    started?.request ?? generation?.request ?? core?.tokenIfMade?.request ?? ownContext?.request
  }

  /// Through what the run was cancelled, in words, for traces.
  var cancellationSource: String {
    if let request = started?.request, let overlap = core?.overlap, overlap.mode != nil,
      request.reason == overlap.name
    {
      return "overlap policy"
    }
    if isChainCancelled { return "the chain's token" }
    if isGenerationCancelled { return "cancelRuns" }
    if ownContext?.request != nil { return "a token around it" }
    if sequence(first: self, next: \.outer).dropFirst().contains(where: { $0.requestToItself != nil }) {
      return "the outer run"
    }
    if let child, child.fork.isLost(at: child.branch) {
      return child.fork.nesting == .race ? "a faster branch" : "a failed branch"
    }
    return hasHandle && started?.request != nil ? "its handle" : "its task"
  }

  /// Waits, in a separate task, in such a way that any cancellation of the run ends the wait.
  ///
  /// A plain run checks for cancellation only before each step, and any code may call `step` in another task than the
  /// run's, which the cancellation of a plain run's task does not reach.
  func wait<Value: Sendable>(_ wait: @concurrent @escaping @Sendable () async -> Value) async -> Value {
    var tokens: [CancellationToken] = []
    for execution in sequence(first: self, next: \.outer) {
      let own = execution.started?.interruption.value ?? execution.ownGeneration ?? execution.core?.firstGeneration
      tokens += [own, execution.child?.fork.interruption].compactMap { $0 }
      // They cancel a run with its own task themselves.
      if execution.started == nil { tokens += execution.ownContext?.tokens ?? [] }
    }
    let task = spawn(wait)
    let listeners = tokens.map { $0.listen { _ in task.cancel() } }
    if isCancellationRequestedElsewhere { task.cancel() }
    defer { for (token, listener) in zip(tokens, listeners) { token.remove(listener) } }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  var journalRun: JournalRun {
    JournalRun(isCancellationRequested: { self.isCancellationRequested }, isRunCancelled: { self.isRunCancelled })
  }

  private var isRunCancelled: Bool {
    sequence(first: self, next: \.outer).contains { execution in
      if execution.outer == nil, execution.started?.isCancellationRequested ?? false { return true }
      return execution.isGenerationCancelled || execution.isChainCancelled || execution.ownContext?.request != nil
    }
  }
}
