// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Execution {
  /// What to undo, created when it is first needed.
  var undos: UndoStack { state.withLock { $0.undos.stored(or: UndoStack()) } }

  var undosIfAny: UndoStack? { state.withLock { $0.undos } }

  /// The failed undos of this run and of its nested runs.
  var allUndoErrors: [UndoError] { undosIfAny?.failures ?? [] }

  /// The failed undos of this run and of its nested runs that have not been reported yet.
  var undoErrors: [UndoError] { undosIfAny?.unreported ?? [] }

  /// Undoes steps, in this order, and returns the failures.
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

  /// Undoes steps, in this order, shielded from cancellation, and stores the failures.
  func undoShielded(_ undos: [UndoStack.Undo], recording: Recording?) async {
    guard !undos.isEmpty else { return }
    await Scope.withCancellationShield { self.keep(await self.undo(undos, recording: recording)) }
  }

  /// Undoes the steps of abandoned work, in this order.
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
