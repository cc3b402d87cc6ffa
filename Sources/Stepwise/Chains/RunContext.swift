// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// What one run of one chain goes by: who may stop it, who looks at it, and what could not be undone.
final class RunContext: Sendable {
  let chain: ChainCore
  /// The run's own Task, if it has one.
  let run: RunCore?
  /// The run that this one is a step of.
  let outer: RunContext?
  let recorder: RunRecorder?
  /// The index, among the steps that events name, of the chain's first step.
  let firstStep: Int
  private let scope: CancellationScope?
  private let epoch: Int
  private let step: Atomic<Int>
  /// Nil where no step can be undone.
  let undoLog: UndoLog?

  init(
    chain: ChainCore,
    program: Program,
    run: RunCore? = nil,
    outer: RunContext? = nil,
    recorder: RunRecorder? = nil,
    firstStep: Int = 0,
    epoch: Int? = nil
  ) {
    self.chain = chain
    self.run = run
    self.outer = outer
    self.recorder = recorder
    self.firstStep = firstStep
    self.epoch = epoch ?? chain.epoch
    scope = CancellationScope.current
    step = Atomic(firstStep)
    undoLog = program.canUndo ? UndoLog() : nil
  }

  // MARK: - Who may stop it

  /// Whether the run is to stop: looked at before each step, and when one has thrown.
  var isAsked: Bool { Task.isCancelled || isAskedFromElsewhere }

  /// By anybody but the Task, for this run or for those that it is a step of.
  private var isAskedFromElsewhere: Bool {
    isAskedItself || (outer != nil && outers.contains(where: \.isAskedItself))
  }

  private var isAskedItself: Bool {
    if chain.isAsked(since: epoch) { return true }
    if let run, run.isAsked { return true }
    return scope?.request != nil
  }

  /// What the run was asked, by whom it was asked first as far as can be told.
  var request: Cancellation? {
    requestToItself ?? outers.lazy.compactMap(\.requestToItself).first
      ?? (Task.isCancelled ? scope?.knownCause ?? Cancellation() : nil)
  }

  private var requestToItself: Cancellation? {
    run?.request ?? chain.request(since: epoch) ?? scope?.request
  }

  /// The runs that this one is a step of, innermost first.
  private var outers: some Sequence<RunContext> {
    sequence(state: outer) { next in
      defer { next = next?.outer }
      return next
    }
  }

  // MARK: - Where it is

  /// The step that began last, here or in a chain that runs as a step of this one.
  var currentStep: ChainStep {
    let index = step.load(ordering: .relaxed)
    return ChainStep(index: index, name: chain.program.names[index - firstStep])
  }

  func enter(_ index: Int) {
    step.store(index, ordering: .relaxed)
    guard outer != nil else { return }
    for outer in outers { outer.step.store(index, ordering: .relaxed) }
  }

  // MARK: - What could not be undone

  /// The undos that failed, of this run and of those that are steps of it, and that nobody was told of yet.
  var undoErrors: [UndoError] { undoLog?.untold ?? [] }

  /// Undoes steps, newest first; all are tried.
  ///
  /// - Returns: what could not be undone.
  func undo(_ entries: [UndoStack.Entry]) async -> [UndoError] {
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
  nonisolated(nonsending) func undoShielded(_ entries: [UndoStack.Entry]) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.undisturbed { self.keep(await self.undo(entries)) }
  }

  /// Undoes the steps of a part that has failed, newest first.
  ///
  /// When it is abandoned meanwhile, nobody will look at what is kept: then what cannot be undone is told at once.
  nonisolated(nonsending) func undoPart(_ entries: [UndoStack.Entry], on stack: UndoStack) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.undisturbed {
      let errors = await self.undo(entries)
      if !stack.ifOpen({ self.keep(errors) }) { await self.tell(errors) }
    }
  }

  /// Undoes steps of a part that was abandoned, newest first.
  ///
  /// The run may be over, so what cannot be undone is told to the chain's handlers at once.
  nonisolated(nonsending) func undoLate(_ entries: [UndoStack.Entry]) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.undisturbed { await self.tell(await self.undo(entries)) }
  }

  private func tell(_ errors: [UndoError]) async {
    undoLog?.add(told: errors)
    for outer in outers { outer.undoLog?.add(told: errors) }
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
