// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A part of a chain that runs in a Task other than the run's: under a timer, or abandoned to itself.
struct Part: Sendable {
  let program: Program
  let context: RunContext
  let index: Int

  init(covered frame: borrowing Frame) {
    program = frame.program
    context = frame.context
    index = frame.covered
  }

  /// Runs the part; when it fails, what it completed is undone before this throws.
  ///
  /// - Returns: the value, and how to undo what was completed.
  func run<Input: Sendable, Output: Sendable>(
    _ input: Input,
    undos: UndoStack = UndoStack()
  ) async throws -> (Output, [UndoStack.Entry]) {
    var frame = Frame(program, context, undos: undos)
    frame.baton.put(input)
    do {
      try await frame.perform(part: index)
    } catch {
      await context.undoPart(undos.takeAll(), on: undos)
      throw error
    }
    return (frame.baton.take(), undos.takeAll().reversed())
  }
}
