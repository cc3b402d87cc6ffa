// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a run has ended, and how to undo what it completed.
struct Conclusion<Output: Sendable>: Sendable {
  let outcome: Outcome<Output>
  /// Nothing unless the run ended with a value: then they belong to whatever it was a step of.
  let undos: [UndoStack.Entry]
}

extension ChainCore {
  /// Runs the steps in the current Task, then what is to follow them, in order: undos, `onError`, `finally`.
  nonisolated(nonsending) func execute<Input: Sendable, Output: Sendable>(
    _ input: Input,
    in context: RunContext
  ) async -> Conclusion<Output> {
    var frame = Frame(program, context)
    frame.baton.put(input)
    let result: Result<Output, any Error>
    do {
      try await frame.perform(part: frame.lastPart)
      result = .success(frame.baton.take())
    } catch {
      result = .failure(error)
    }
    return await conclude(result, undos: frame.undos?.takeAll() ?? [], in: context)
  }

  /// Decides the outcome and runs the handlers.
  nonisolated(nonsending) func conclude<Output: Sendable>(
    _ result: Result<Output, any Error>,
    undos: [UndoStack.Entry],
    in context: RunContext
  ) async -> Conclusion<Output> {
    let outcome = close(result, in: context)
    if case .resolved = outcome {
      await runHandlers(outcome.map { $0 }, undoing: [], in: context)
      return Conclusion(outcome: outcome, undos: undos.reversed())
    }
    await runHandlers(outcome.map { $0 }, undoing: undos, in: context)
    return Conclusion(outcome: outcome, undos: [])
  }

  private func close<Output: Sendable>(_ result: Result<Output, any Error>, in context: RunContext) -> Outcome<Output> {
    var request: Cancellation?
    if case .failure = result { request = context.request }
    if let run = context.run { return run.close(result, asked: request) }
    var machine = RunMachine()
    if let request { _ = machine.ask(request) }
    return machine.close(result)
  }

  private nonisolated(nonsending) func runHandlers(
    _ state: ChainState,
    undoing entries: [UndoStack.Entry],
    in context: RunContext
  ) async {
    let program = program
    guard !entries.isEmpty || program.hasHandlers(for: state) || !context.undoErrors.isEmpty else { return }
    let handlers: @Sendable () async -> Void = {
      context.keep(await context.undo(entries))
      if case .failed(let error) = state {
        for handler in program.errorHandlers { await handler(error) }
      }
      for error in context.undoErrors {
        for handler in program.errorHandlers { await handler(error) }
      }
      for handler in program.finallyHandlers { await handler(state) }
    }
    // A run with a Task of its own that nobody asked to stop before it was closed is not cancelled any more.
    let isSafe = context.run.map { !$0.isAsked } ?? false
    await CancellationScope.withoutRequests {
      if isSafe { await handlers() } else { await shielded(handlers) }
    }
  }
}

extension Program {
  fileprivate func hasHandlers(for state: ChainState) -> Bool {
    if case .failed = state, !errorHandlers.isEmpty { return true }
    return !finallyHandlers.isEmpty
  }
}
