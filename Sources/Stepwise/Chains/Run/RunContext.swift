// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The context of one run of one chain: its sources of cancellation, its outcome, and its failed undos.
final class RunContext: Sendable {
  let program: Program
  /// The run's own task, if it has one.
  let run: RunState?
  /// The relation of this run to the run that contains it as a step.
  let child: ChildRun?
  let recorder: RunRecorder?
  /// Whether `start` started the run.
  let hasHandle: Bool
  let scope: CancellationScope?
  /// What cancels all runs of the chain.
  let chain: ChainCancellation
  /// The cancellation count at the last check that found this run and its enclosing runs uncancelled.
  let lookedAt = Atomic(-1)
  private let step: Atomic<Int>
  /// The runs that form, or formed last, a step of this one.
  private let children = Lock<ChildRuns?>(nil)
  /// Decides the outcome of a run without its own task.
  private let machine = Lock(RunMachine())
  /// Whether this run, or a run that contains it as a step, has its own task.
  private let isInItsTask: Bool
  /// Nil when no step can be undone.
  let undoLog: UndoLog?

  init(
    _ program: Program,
    cancelledBy chain: ChainCancellation,
    run: RunState? = nil,
    child: ChildRun? = nil,
    recorder: RunRecorder? = nil
  ) {
    self.program = program
    self.chain = chain
    self.run = run
    self.child = child
    hasHandle = recorder != nil
    self.recorder = .make(
      for: program,
      own: recorder,
      in: child?.recorder,
      as: child?.siblings.nesting,
      firstStep: child?.firstStep ?? 0
    )
    scope = CancellationScope.current
    step = Atomic(child?.firstStep ?? 0)
    isInItsTask = run != nil || child?.outer.isInItsTask ?? false
    undoLog = run.map(\.undoLog) ?? (program.canUndo ? UndoLog() : nil)
    child?.siblings.begin(self, at: child?.place ?? 0)
  }

  /// The run that contains this one as a step.
  var outer: RunContext? { child?.outer }

  /// How many runs contain this one as a step.
  var depth: Int { outers.reduce(0) { depth, _ in depth + 1 } }

  /// The index of the chain's first step in events.
  var firstStep: Int { child?.firstStep ?? 0 }

  /// The runs that contain this one as a step, innermost first.
  var outers: some Sequence<RunContext> {
    sequence(state: outer) { next in
      defer { next = next?.outer }
      return next
    }
  }

  // MARK: - Position

  /// The current step, the first one of concurrent chains; the step that ended last when none is running.
  var currentStep: ChainStep {
    var context = self
    while let child = context.children.withLock({ $0 })?.firstRunning { context = child }
    return context.lastStep
  }

  /// The step that began last or, once chains that ran as a step have ended, the one of theirs that ended them.
  ///
  /// When the run has failed, that is the step that failed.
  var lastStep: ChainStep {
    let index = step.load(ordering: .relaxed)
    return ChainStep(index: index, name: program.name(at: index - firstStep))
  }

  func enter(_ index: Int) { step.store(index, ordering: .relaxed) }

  /// Releases the runs that formed the last step under a time limit, which has ended.
  ///
  /// They retain the limit, which retains this object.
  func releaseChildren(under limit: CoveredSteps) {
    _ = children.withLock { children -> ChildRuns? in children?.limit === limit ? children.take() : nil }
  }

  func setChildren(_ new: ChildRuns?) { _ = children.withLock { exchange(&$0, with: new) } }

  // MARK: - Outcome

  /// Decides the outcome of the run after its last step, before undos and handlers run.
  ///
  /// Later events do not change it. The outcome of a run that contains this one is decided as well if no step follows
  /// there, and so on.
  func close(with error: (any Error)?) -> Outcome<Void> {
    let outcome = decide(error, asked: error == nil ? nil : request)
    var context = self
    var knownError = error
    // A timer may have cancelled this Task, without a cancellation of the Task that awaits the run.
    var isTaskCancelled = error != nil && Task.isCancelled
    while let child = context.child {
      let siblings = child.siblings
      if siblings.end(at: child.place, hasValue: error == nil) == .none { break }
      let outer = child.outer
      if outer.children.withLock({ $0 === child.siblings }) { outer.enter(context.step.load(ordering: .relaxed)) }
      if let limit = siblings.limit {
        guard limit.isAwaited else { break }
        isTaskCancelled = isTaskCancelled && limit.isRunCancelled
      }
      guard error == nil ? siblings.isLastWithValue : siblings.isLast(withError: knownError) else { break }
      if isTaskCancelled, !outer.isInItsTask { break }
      if !siblings.passesErrorOn { knownError = nil }
      _ = outer.decide(error, asked: error == nil ? nil : outer.requestFromElsewhere)
      context = outer
    }
    return outcome
  }

  private func decide(_ error: (any Error)?, asked request: Cancellation?) -> Outcome<Void> {
    if let run { return run.close(with: error, asked: request) }
    guard let error else { return .resolved(()) }
    return machine.withLock { machine in
      if let request { _ = machine.requestCancellation(request) }
      return machine.close(with: error)
    }
  }

  // MARK: - Failed undos

  /// The failed undos of this run and of its nested runs that have not been reported yet.
  var undoErrors: [UndoError] { undoLog?.unreported ?? [] }

  /// Undoes steps, newest first; continues after a failure.
  ///
  /// - Returns: The failures.
  func undo(_ entries: [UndoStack.Entry], recorder: RunRecorder?) async -> [UndoError] {
    var errors: [UndoError] = []
    for entry in entries {
      do {
        try await entry.undo()
        recorder?.undone(entry.step.index, error: nil)
      } catch {
        recorder?.undone(entry.step.index, error: error)
        errors.append(UndoError(step: entry.step, underlying: error))
      }
    }
    return errors
  }

  /// Undoes steps, newest first, shielded from cancellation, and stores the failures.
  nonisolated(nonsending) func undoShielded(_ entries: [UndoStack.Entry], recorder: RunRecorder?) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.withCancellationShield { self.keep(await self.undo(entries, recorder: recorder)) }
  }

  /// Undoes the steps of an abandoned part, newest first.
  ///
  /// The run may already have completed, so failures are reported to the chain's handlers immediately, and nothing is
  /// recorded.
  nonisolated(nonsending) func undoLate(_ entries: [UndoStack.Entry]) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.withCancellationShield { await self.tell(await self.undo(entries, recorder: nil)) }
  }

  private func tell(_ errors: [UndoError]) async {
    undoLog?.add(reported: errors)
    for outer in outers { outer.undoLog?.add(reported: errors) }
    for error in errors {
      for handler in program.errorHandlers { await handler(error, error.chainStep) }
    }
  }

  /// Stores failed undos for the handlers of this run and of the runs that contain it.
  func keep(_ errors: [UndoError]) {
    guard !errors.isEmpty else { return }
    undoLog?.add(errors)
    for outer in outers { outer.undoLog?.add(errors) }
  }
}
