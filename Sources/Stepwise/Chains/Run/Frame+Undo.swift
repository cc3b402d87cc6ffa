// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Frame {
  /// The step that failed, if the run has ended with an error of its own.
  var failedStep: ChainStep? { hasFailed ? context.lastStep : nil }

  /// The current step.
  var step: ChainStep {
    ChainStep(index: index, name: program.name(at: index - context.firstStep))
  }

  /// Stores how to undo the step that has just completed.
  nonisolated(nonsending) mutating func keep(
    undo: nonisolated(nonsending) @escaping @Sendable () async throws -> Void
  ) async {
    await adopt([UndoStack.Entry(step: step, undo: undo)])
  }

  /// Stores how to undo what nested chains have completed.
  ///
  /// If the part that contains them was abandoned meanwhile, they are undone immediately. Failures are then reported to
  /// the handlers immediately, because the run may already have completed.
  ///
  /// - Parameters:
  ///   - entries: How to undo the steps.
  ///   - isMarked: Whether to undo them in any case, even when a `recover` follows.
  nonisolated(nonsending) mutating func adopt(_ entries: [UndoStack.Entry], isMarked: Bool = false) async {
    guard !entries.isEmpty else { return }
    let undos = self.undos ?? UndoStack()
    self.undos = undos
    if undos.push(entries, isMarked: isMarked) { return }
    await context.undoLate(UndoStack.Entry.newestFirst(entries))
  }

  /// Returns the stack, for steps that run in another frame.
  mutating func sharedUndos() -> UndoStack? {
    if undos == nil, program.canUndo { undos = UndoStack() }
    return undos
  }

  /// Marks what a failed part completed to be undone, regardless of what follows.
  ///
  /// The undos do not run here: when nothing follows, the outcome of the run is decided first.
  func markUndos() { undos?.markAll() }

  /// Undoes everything that has completed so far.
  nonisolated(nonsending) mutating func undoAll() async {
    guard let entries = undos?.takeAll() else { return }
    await context.undoShielded(entries, recorder: recorder)
  }
}
