// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

// A run does not know the types of the values that pass through it. The typed callers of these methods store the first
// input in the frame and remove the last output from it.
extension ChainCore {
  /// Returns what a run in the caller's task needs; nil when the run needs its own task.
  @usableFromInline
  func makeFrame() -> Frame? {
    let program = program
    guard isPlain(program) else { return nil }
    return Frame(program, RunContext(chain: self, program: program), slot: ValueSlot())
  }

  func isPlain(_ program: Program) -> Bool { !registry.isTokenTaken && program.gate == nil }

  /// Runs the chain in the caller's task.
  ///
  /// It leaves the caller's actor here, once for all steps.
  ///
  /// - Throws: The error of the run.
  @concurrent @usableFromInline
  func runInPlace(_ frame: inout Frame) async throws {
    counter.begin()
    defer { counter.end() }
    guard StepContext.current != nil else { return try await execute(&frame).get() }
    // When a step of another run calls this, progress in here is not that step's progress.
    try await StepContext.$current.withValue(nil) { try await execute(&frame).get() }
  }

  /// Runs the steps in the current task, unless the run is already cancelled, and then undos, `onError` and `finally`, in
  /// this order.
  nonisolated(nonsending) func execute(_ frame: inout Frame, isCancelled: Bool = false) async -> Outcome<Void> {
    if let recorder = frame.context.recorder, let scope = recorder.scope {
      if !isCancelled { recorder.enter() }
      return await execute(&frame, isCancelled: isCancelled, in: scope)
    }
    return await executeUnobserved(&frame, isCancelled: isCancelled)
  }

  @inline(never)
  private nonisolated(nonsending) func execute(
    _ frame: inout Frame,
    isCancelled: Bool,
    in scope: ObservationScope
  ) async -> Outcome<Void> {
    await ObservationScope.$current.withValue(scope) { await executeUnobserved(&frame, isCancelled: isCancelled) }
  }

  private nonisolated(nonsending) func executeUnobserved(
    _ frame: inout Frame,
    isCancelled: Bool = false
  ) async -> Outcome<Void> {
    var failure: (any Error)?
    do {
      if isCancelled { throw CancellationError() }
      try await frame.perform(part: frame.lastPart)
    } catch {
      failure = error
    }
    return await conclude(&frame, with: failure)
  }

  /// Decides the outcome and runs the handlers.
  nonisolated(nonsending) func conclude(_ frame: inout Frame, with error: (any Error)?) async -> Outcome<Void> {
    let context = frame.context
    let outcome = context.close(with: error)
    var source: String?
    // Before the handlers, during which others may be cancelled.
    if case .cancelled = outcome, context.recorder != nil { source = context.cancellationSource }
    if case .failed = outcome { frame.hasFailed = true }
    var undos: [UndoStack.Entry] = []
    if error != nil { undos = frame.undos?.takeAll() ?? [] }
    if frame.program.hasHandlers(for: outcome) || !undos.isEmpty || !context.undoErrors.isEmpty {
      let state: ChainState = outcome.map { frame.slot.erased }
      await runHandlers(state, undoing: undos, in: context)
    }
    if let run = context.run, let listener = run.listener { await listener.conclude(outcome) }
    if let recorder = context.recorder {
      let steps = context.firstStep..<context.firstStep + frame.program.stepCount
      recorder.leave(outcome, through: source, steps) { frame.slot.erased }
    }
    return outcome
  }

  private nonisolated(nonsending) func runHandlers(
    _ state: ChainState,
    undoing entries: [UndoStack.Entry],
    in context: RunContext
  ) async {
    let program = program
    let handlers: @Sendable () async -> Void = {
      context.keep(await context.undo(entries, recorder: context.recorder))
      if case .failed(let error) = state, !program.errorHandlers.isEmpty {
        let step = context.lastStep
        for handler in program.errorHandlers { await handler(error, step) }
      }
      for error in context.undoErrors {
        for handler in program.errorHandlers { await handler(error, error.chainStep) }
      }
      for handler in program.finallyHandlers { await handler(state) }
    }
    // A run with its own task that was not cancelled before it was closed cannot be cancelled any more.
    let isSafe = context.run.map { !$0.isCancellationRequested && !Task.isCancelled } ?? false
    await CancellationScope.withCancellationShield(isCancelled: !isSafe, handlers)
  }
}

extension Program {
  fileprivate func hasHandlers(for outcome: Outcome<Void>) -> Bool {
    if case .failed = outcome, !errorHandlers.isEmpty { return true }
    return !finallyHandlers.isEmpty
  }
}
