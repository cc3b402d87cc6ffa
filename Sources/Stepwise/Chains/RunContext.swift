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
  private let failedUndos = Lock([UndoError]())

  init(
    chain: ChainCore,
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
  }

  // MARK: - Who may stop it

  /// Whether the run is to stop: looked at before each step, and when one has thrown.
  var isAsked: Bool { Task.isCancelled || isAskedFromElsewhere }

  private var isAskedFromElsewhere: Bool {
    if chain.isAsked(since: epoch) { return true }
    if let run, run.isAsked { return true }
    if let scope, scope.request != nil { return true }
    if let outer { return outer.isAskedFromElsewhere }
    return false
  }

  /// What the run was asked, by whom it was asked first as far as can be told.
  var request: Cancellation? {
    requestFromElsewhere ?? (Task.isCancelled ? scope?.knownCause ?? Cancellation() : nil)
  }

  private var requestFromElsewhere: Cancellation? {
    run?.request ?? chain.request(since: epoch) ?? scope?.request ?? outer?.requestFromElsewhere
  }

  // MARK: - Where it is

  /// The step that began last, here or in a chain that runs as a step of this one.
  var currentStep: ChainStep {
    let index = step.load(ordering: .relaxed)
    return ChainStep(index: index, name: chain.program.nameOfStep(at: index - firstStep))
  }

  func enter(_ index: Int) {
    step.store(index, ordering: .relaxed)
    outer?.enter(index)
  }

  // MARK: - What could not be undone

  /// The undos that failed, of this run and of those that are steps of it.
  var undoErrors: [UndoError] { failedUndos.withLock { $0 } }

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
    await CancellationScope.withoutRequests {
      await shielded { self.keep(await self.undo(entries)) }
    }
  }

  /// Undoes steps of a part that was abandoned, newest first.
  ///
  /// The run may be over, so what cannot be undone is told to the chain's handlers at once.
  nonisolated(nonsending) func undoLate(_ entries: [UndoStack.Entry]) async {
    guard !entries.isEmpty else { return }
    await CancellationScope.withoutRequests {
      await shielded {
        for error in await self.undo(entries) {
          for handler in self.chain.program.errorHandlers { await handler(error) }
        }
      }
    }
  }

  /// Keeps undos that failed, for the handlers of this run and of those that it is a step of.
  func keep(_ errors: [UndoError]) {
    guard !errors.isEmpty else { return }
    failedUndos.withLock { $0 += errors }
    outer?.keep(errors)
  }
}
