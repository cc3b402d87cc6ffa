// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Frame {
  /// Runs a step that a record, a journal or both know of.
  ///
  /// The record has two readings of the clock, of which the first is shared with the previous step.
  @inline(never)
  mutating func executeRecorded(at position: Int, in recording: Recording?) async throws {
    guard run.journal != nil || !run.isCancellationRequested else { throw CancellationError() }
    stepIndex = run.firstStep + core.operations[position].stepsBefore
    run.stepIndex = stepIndex
    if let recording {
      record = recording.begin(stepIndex, at: lastEnd.take() ?? recording.now)
      do {
        try await Scope.$current.withValue(scope(of: recording)) {
          // Most steps need no more, and then a stack frame less.
          guard !run.isJournaled, !core.operations[position].isUndoable else {
            return try await executeOperation(at: position)
          }
          try await core.operations[position].code(&self)
        }
      } catch {
        recording.end(record, error: error)
        throw error
      }
      let end = recording.now
      lastEnd = end
      recording.end(record, at: end)
    } else {
      try await executeOperation(at: position)
    }
    run.reportEnd(ofStep: stepIndex)
  }

  private func scope(of recording: Recording) -> Scope {
    if attempt == nil { return Scope(of: run, record: record) }
    // An attempt has another scope than its run.
    return Scope.current.with(recordedStep: RecordedStep(recording: recording, id: record))
  }

  @inline(never)
  private mutating func executeOperation(at position: Int) async throws {
    if let journal = run.journal ?? run.stepJournal { return try await execute(at: position, by: journal) }
    try await core.operations[position].code(&self)
    if core.operations[position].isUndoable { await storeUndo(at: position) }
  }

  @inline(never)
  mutating func execute(at position: Int, by journal: any RunJournal) async throws {
    let operation = core.operations[position]
    if run.journal != nil, core.isCode(at: position) {
      let key = journal.open(operation.storedName)
      return try await journal.inside(key, branch: nil) { try await operation.code(&self) }
    }
    try await execute(operation, at: position, by: journal, returning: operation.output)
  }

  private mutating func execute<Output: Sendable>(
    _ operation: ChainCore.Operation,
    at position: Int,
    by journal: any RunJournal,
    returning type: Output.Type
  ) async throws {
    let (run, record, step) = (run, record, self.step(at: position))
    func makeUndo(_ value: borrowing ValueSlot, _ number: Int) -> UndoStack.Undo? {
      operation.undo.map { UndoStack.Undo(step: step, record: record, number: number, perform: $0(value)) }
    }
    let journalStep = JournalStep(name: operation.storedName, isUndoable: operation.isUndoable)
    let end: JournalEnd<Output>
    do {
      end = try await journal.step(journalStep, in: run.journalRun(attempt)) { value in
        guard let undo = makeUndo(ValueSlot(value), UndoStack.Undo.nextNumber) else { return true }
        return await run.undoUnstored(undo)
      } _: { key in
        try await journal.inside(key, branch: nil) { try await operation.code(&self) }
        return slot.take(Output.self)
      }
    } catch {
      // A stored error leaves the input where it is.
      slot = ValueSlot()
      throw error
    }
    if end.isReplayed { recording?.replayed(record) }
    slot = ValueSlot(end.value)
    if let number = end.number, let undo = makeUndo(slot, number) { await adopt([undo]) }
  }
}
