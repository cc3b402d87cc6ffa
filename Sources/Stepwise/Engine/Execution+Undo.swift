// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Execution {
  /// The errors of the undos of this run and of its branches.
  var undoErrors: [UndoError] { undosIfAny?.errors ?? [] }

  /// Those that the handlers have not received.
  var unreportedUndoErrors: [UndoError] { undosIfAny?.unreported ?? [] }

  /// Undoes steps, in this order, and returns the errors.
  @concurrent func undo(_ undos: [UndoStack.Undo], recording: Recording?) async -> [UndoError] {
    await undo(undos, by: journal, recording: recording)
  }

  private func undo(
    _ undos: [UndoStack.Undo],
    by journal: (any RunJournal)?,
    recording: Recording?
  ) async -> [UndoError] {
    var errors: [UndoError] = []
    let numbers = undos.map(\.number)
    for (index, undo) in undos.enumerated() {
      do {
        if let journal {
          guard try await journal.undo(numbers[index...], undo.perform) else { continue }
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

  /// Undoes steps, in this order, shielded from cancellation, and stores the errors.
  func undoShielded(_ undos: [UndoStack.Undo], recording: Recording?) async {
    guard !undos.isEmpty else { return }
    await Scope.withCancellationShield(as: .undos) {
      self.add(undoErrors: await self.undo(undos, recording: recording))
    }
  }

  /// Undoes a step whose value its journal cannot store, shielded from cancellation; returns whether that has not thrown.
  func undoUnstored(_ undo: UndoStack.Undo) async -> Bool {
    let errors = await Scope.withCancellationShield(as: .undos) {
      await self.undo([undo], by: nil, recording: self.recording)
    }
    add(undoErrors: errors)
    return errors.isEmpty
  }

  /// Undoes the steps of abandoned work, in this order.
  ///
  /// The run may already have completed, so nothing is recorded and no handler is called; the errors are listed in
  /// `undoErrors`.
  func undoLate(_ undos: [UndoStack.Undo]) async {
    guard !undos.isEmpty else { return }
    await Scope.withCancellationShield(as: .undos) {
      let errors = await self.undo(undos, recording: nil)
      for run in sequence(first: self, next: \.container) { run.undos.add(reported: errors) }
    }
  }

  /// Stores the errors of undos for the handlers of this run and of the runs that contain it.
  func add(undoErrors errors: [UndoError]) {
    guard !errors.isEmpty else { return }
    for run in sequence(first: self, next: \.container) { run.undos.add(errors) }
  }

  /// Stores how to undo steps that have completed: in an attempt, or in the run.
  ///
  /// What completes late, in an attempt that has failed or was abandoned, or in a run that has ended without a value, is
  /// undone at once.
  func adopt(_ undos: consuming [UndoStack.Undo], in attempt: Attempt?) async {
    guard !undos.isEmpty else { return }
    func undoesAtOnce() -> Bool { attempt?.undoesAtOnce ?? false }
    var next = attempt
    while let attempt = next {
      if attempt.undos.push(&undos, unless: undoesAtOnce) { return }
      next = attempt.outer
    }
    for run in sequence(first: self, next: \.container) where !undoesAtOnce() {
      if run.calls.begin() {
        defer { run.calls.end() }
        if run.undos.push(&undos, unless: undoesAtOnce) { return }
      }
      if run.calls.hasEndedWithoutValue { break }
      if run.container == nil, !undoesAtOnce() { return }
    }
    let late = UndoStack.Undo.newestFirst(undos)
    // The run awaits what it has not abandoned, so that its handlers receive the errors.
    if undoesAtOnce(), attempt?.isAbandoned == false { return await undoShielded(late, recording: recording) }
    await undoLate(late)
  }
}
