// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run has ended.
struct Conclusion: Sendable {
  let outcome: Outcome<RunOutput>
  /// How to undo what it completed, newest last.
  ///
  /// Nothing unless it ended with a value: then they belong to whatever it was a step of.
  let undos: [UndoStack.Entry]

  var hasValue: Bool {
    if case .resolved = outcome { true } else { false }
  }
}

// Runs know nothing of the types of the values that pass through them: what is typed, the first input and the last output,
// is put into the frame and taken out of it by those who call these.
extension ChainCore {
  /// What a run needs that is awaited in the caller's Task; nil when it has to have a Task of its own.
  @usableFromInline
  func makeFrame() -> Frame? {
    let program = program
    guard isPlain(program) else { return nil }
    return Frame(program, RunContext(chain: self, program: program))
  }

  func isPlain(_ program: Program) -> Bool { !registry.isTokenTaken && program.gate == nil }

  /// A run in the caller's Task.
  ///
  /// It leaves the caller's actor here, once for all steps.
  ///
  /// - Throws: what the run throws.
  @concurrent @usableFromInline
  func runInPlace(_ frame: inout Frame) async throws {
    counter.begin()
    defer { counter.end() }
    guard StepContext.current != nil else { return try await execute(&frame).get() }
    // Called in a step of another run: what happens here is not that step's progress.
    try await StepContext.$current.withValue(nil) { try await execute(&frame).get() }
  }

  /// Runs the steps in the current Task, then what is to follow them, in order: undos, `onError`, `finally`.
  nonisolated(nonsending) func execute(_ frame: inout Frame) async -> Outcome<Void> {
    do {
      try await frame.perform(part: frame.lastPart)
      return await conclude(&frame, with: nil)
    } catch {
      return await conclude(&frame, with: error)
    }
  }

  /// Decides the outcome and runs the handlers.
  nonisolated(nonsending) func conclude(_ frame: inout Frame, with error: (any Error)?) async -> Outcome<Void> {
    let context = frame.context
    let outcome = context.close(with: error)
    var undos: [UndoStack.Entry] = []
    if error != nil { undos = frame.undos?.takeAll() ?? [] }
    if frame.program.hasHandlers(for: outcome) || !undos.isEmpty || !context.undoErrors.isEmpty {
      let state: ChainState = outcome.map { frame.slot.erased }
      await runHandlers(state, undoing: undos, in: context)
    }
    if let run = context.run, let listener = run.listener { await listener.conclude(outcome) }
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
      if case .failed(let error) = state {
        for handler in program.errorHandlers { await handler(error) }
      }
      for error in context.undoErrors {
        for handler in program.errorHandlers { await handler(error) }
      }
      for handler in program.finallyHandlers { await handler(state) }
    }
    // A run with a Task of its own that nobody asked to stop before it was closed is not cancelled any more.
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
