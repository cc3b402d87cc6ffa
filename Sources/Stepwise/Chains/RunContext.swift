// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// What one run of one chain goes by: who may stop it, who looks at it, and what could not be undone.
final class RunContext: Sendable {
  let chain: ChainCore
  /// The run's own Task, if it has one.
  let run: RunCore?
  /// What this run is to the one that it is a step of.
  let child: ChildRun?
  let recorder: RunRecorder?
  private let scope: CancellationScope?
  private let generation: CancellationToken
  /// The count of cancellations when none of them was found to be of this run or of one that it is a step of.
  private let lookedAt = Atomic(-1)
  private let step: Atomic<Int>
  /// The runs that are, or were last, a step of this one.
  private let children = Lock<ChildRuns?>(nil)
  /// Decides how a run ends that has no Task of its own.
  private let machine = Lock(RunMachine())
  /// Whether this run, or one that it is a step of, has a Task of its own.
  private let isInItsTask: Bool
  /// Nil where no step can be undone.
  let undoLog: UndoLog?

  init(
    chain: ChainCore,
    program: Program,
    run: RunCore? = nil,
    child: ChildRun? = nil,
    recorder: RunRecorder? = nil,
    generation: CancellationToken? = nil
  ) {
    self.chain = chain
    self.run = run
    self.child = child
    self.recorder = recorder ?? child?.recorder
    self.generation = generation ?? chain.currentGeneration
    scope = CancellationScope.current
    step = Atomic(child?.firstStep ?? 0)
    isInItsTask = run != nil || child?.outer.isInItsTask ?? false
    undoLog = program.canUndo ? UndoLog() : nil
    child?.siblings.begin(self, at: child?.place ?? 0)
  }

  /// The run that this one is a step of.
  var outer: RunContext? { child?.outer }

  /// The index, among the steps that events name, of the chain's first step.
  var firstStep: Int { child?.firstStep ?? 0 }

  // MARK: - Who may stop it

  /// Whether the run is to stop: looked at before each step, and when one has thrown.
  var isCancellationRequested: Bool { Task.isCancelled || isCancellationRequestedElsewhere }

  /// By anybody but the Task, for this run or for those that it is a step of.
  ///
  /// As long as nothing was cancelled in the whole process since it was looked at last, there is nothing to look at.
  private var isCancellationRequestedElsewhere: Bool {
    let count = CancellationCount.current
    var context = self
    while context.lookedAt.load(ordering: .relaxed) != count {
      if context.isCancellationRequestedHere { return true }
      guard let outer = context.outer else { break }
      context = outer
    }
    lookedAt.store(count, ordering: .relaxed)
    return false
  }

  private var isCancellationRequestedHere: Bool {
    if chain.isCancellationRequested(for: generation) { return true }
    if let run, run.isCancellationRequested { return true }
    return scope?.request != nil
  }

  /// What the run was asked, by whom it was asked first as far as can be told.
  var request: Cancellation? {
    requestFromElsewhere ?? (Task.isCancelled ? scope?.cancellationCause ?? Cancellation() : nil)
  }

  private var requestFromElsewhere: Cancellation? {
    requestToItself ?? outers.lazy.compactMap(\.requestToItself).first
  }

  private var requestToItself: Cancellation? {
    run?.request ?? chain.request(of: generation) ?? scope?.request
  }

  /// Waits so that any cancellation of the run ends the wait.
  ///
  /// A run with a Task of its own is interrupted anyway. A plain run only looks before each step, so it waits in a Task of
  /// its own.
  nonisolated(nonsending) func wait<Value: Sendable>(_ wait: @escaping @Sendable () async -> Value) async -> Value {
    var tokens: [CancellationToken] = []
    for context in sequence(first: self, next: \.outer) where context.run == nil {
      tokens.append(context.generation)
      if let token = context.chain.registry.tokenIfTaken { tokens.append(token) }
      tokens += context.scope?.tokens ?? []
    }
    guard !tokens.isEmpty else { return await wait() }
    let task = spawn(wait)
    let registrations = tokens.map { $0.onCancel { _ in task.cancel() } }
    defer { for registration in registrations { registration.remove() } }
    return await withTaskCancellationHandler {
      await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// The runs that this one is a step of, innermost first.
  private var outers: some Sequence<RunContext> {
    sequence(state: outer) { next in
      defer { next = next?.outer }
      return next
    }
  }

  // MARK: - Where it is

  /// The step that runs, of those of side by side chains the first; else the one that ended last.
  var currentStep: ChainStep {
    var context = self
    while let child = context.children.withLock({ $0 })?.firstRunning { context = child }
    let index = context.step.load(ordering: .relaxed)
    return ChainStep(index: index, name: context.chain.program.name(at: index - context.firstStep))
  }

  func enter(_ index: Int) { step.store(index, ordering: .relaxed) }

  func setChildren(_ new: ChildRuns?) { _ = children.withLock { exchange(&$0, with: new) } }

  // MARK: - How it ends

  /// Decides how the run ends, now that its last step has ended and before anything is undone or any handler runs.
  ///
  /// Nothing that comes later changes that. It is decided for the run that this one is a step of, too, if nothing follows
  /// there, and so on.
  func close(with error: (any Error)?) -> Outcome<Void> {
    let outcome = decide(error, asked: error == nil ? nil : request)
    var context = self
    while let child = context.child {
      let ending = child.siblings.end(at: child.place, hasValue: error == nil)
      if ending == .none { break }
      let outer = child.outer
      if outer.children.withLock({ $0 === child.siblings }) { outer.enter(context.step.load(ordering: .relaxed)) }
      // What has cancelled this Task may be a timer, and not whoever cancels the Task that awaits the run.
      if ending == .step || (error != nil && Task.isCancelled && !outer.isInItsTask) { break }
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

  // MARK: - What could not be undone

  /// The undos that failed, of this run and of those that are steps of it, and that nobody was told of yet.
  var undoErrors: [UndoError] { undoLog?.unreported ?? [] }

  /// Undoes steps, newest first; all are tried.
  ///
  /// - Returns: what could not be undone.
  func undo(_ entries: [UndoStack.Entry], recorder: RunRecorder?) async -> [UndoError] {
    var errors: [UndoError] = []
    for entry in entries {
      do {
        try await entry.undo()
        recorder?.undone(entry.step.index, error: nil)
      } catch {
        recorder?.undone(entry.step.index, error: error)
        errors.append(UndoError(step: entry.step.description, underlying: error))
      }
    }
    return errors
  }

  /// Undoes steps, newest first, out of the reach of cancellation, and keeps what could not be undone.
  nonisolated(nonsending) func undoShielded(_ entries: [UndoStack.Entry], recorder: RunRecorder?) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.withCancellationShield { self.keep(await self.undo(entries, recorder: recorder)) }
  }

  /// Undoes steps of a part that was abandoned, newest first.
  ///
  /// The run may be over, so what cannot be undone is told to the chain's handlers at once, and nothing is recorded.
  nonisolated(nonsending) func undoLate(_ entries: [UndoStack.Entry]) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.withCancellationShield { await self.tell(await self.undo(entries, recorder: nil)) }
  }

  private func tell(_ errors: [UndoError]) async {
    undoLog?.add(reported: errors)
    for outer in outers { outer.undoLog?.add(reported: errors) }
    for error in errors {
      for handler in chain.program.errorHandlers { await handler(error) }
    }
  }

  /// Keeps undos that failed, for the handlers of this run and of those that it is a step of.
  func keep(_ errors: [UndoError]) {
    guard !errors.isEmpty else { return }
    undoLog?.add(errors)
    for outer in outers { outer.undoLog?.add(errors) }
  }
}
