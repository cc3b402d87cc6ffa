// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One pass through operations of a core, with the current value.
///
/// Its asynchronous methods are mutating: the compiler passes a frame that is only borrowed as a copy, which would double
/// the memory of every run.
@usableFromInline
package struct Frame: ~Copyable {
  @usableFromInline var slot: ValueSlot
  let core: ChainCore
  let run: Execution
  let recording: Recording?
  /// What the steps here belong to; nil for the run itself.
  private(set) var attempt: Attempt?
  /// The index in events of the current operation, or of its first step.
  var stepIndex = 0
  /// The current step in the record; nil without one.
  var record: RecordID?
  /// The previous step's end, reused as the next step's start in the record.
  // Not an instant, whose size the compiler does not know here.
  var lastEnd: Duration?
  /// The segment that the current operation covers.
  private(set) var covered = 0
  /// The error for the next `recover` to replace, or that ends the run before its first step.
  var pendingError: (any Error)?

  /// Creates a frame for a run, or for steps of it with their own record.
  init(
    _ core: ChainCore,
    _ run: Execution,
    slot: consuming ValueSlot,
    recording: Recording?
  ) {
    self.slot = slot
    self.core = core
    self.run = run
    self.recording = recording
  }

  /// The index of the last segment.
  ///
  /// Each segment ends before an operation that covers it and all segments before; the last one ends at the end.
  var lastSegment: Int { core.coveringPositions.count }

  private func start(ofSegment segment: Int) -> Int { segment == 0 ? 0 : core.coveringPositions[segment - 1] }
  private func end(ofSegment segment: Int) -> Int {
    segment == lastSegment ? core.operations.count : core.coveringPositions[segment]
  }

  /// Executes the operations of one segment, in a loop; the first of them covers the segments before.
  mutating func execute(segment: Int) async throws {
    var position = start(ofSegment: segment)
    let end = end(ofSegment: segment)
    let (recording, isPlain) = (recording, recording == nil && !run.isJournaled)
    while position < end {
      // Not copied into a variable, which would retain its closures and keep them in the stack frame.
      do {
        if core.operations[position].kind != .step {
          try await execute(at: position, in: segment)
        } else if isPlain {
          guard !run.isCancellationRequested else { throw CancellationError() }
          stepIndex = run.firstStep + core.operations[position].stepsBefore
          run.stepIndex = stepIndex
          try await core.operations[position].code(&self)
          if core.operations[position].isUndoable { await storeUndo(at: position) }
          run.reportEnd(ofStep: stepIndex)
        } else {
          try await executeRecorded(at: position, in: recording)
        }
        position += 1
      } catch {
        position = try await recover(from: error, at: position, end: end)
      }
    }
  }

  /// Executes the operations of one segment in an attempt, to which their calls of `step` belong.
  mutating func execute(segment: Int, in attempt: Attempt?) async throws {
    let outer = exchange(&self.attempt, with: attempt)
    defer { self.attempt = outer }
    try await Scope.$current.withValue(Scope.current.with(attempt, recordedStep: nil)) {
      try await execute(segment: segment)
    }
  }

  @inline(never)
  private mutating func execute(at position: Int, in segment: Int) async throws {
    let operation = core.operations[position]
    guard operation.kind != .recover else { return }
    // A nested chain does not start once cancellation is requested, so its handlers are not called.
    if operation.kind == .chains, run.journal == nil, run.isCancellationRequested {
      throw CancellationError()
    }
    stepIndex = run.firstStep + operation.stepsBefore
    if operation.kind == .chains { run.stepIndex = stepIndex }
    covered = segment - 1
    defer { lastEnd = nil }
    try await operation.code(&self)
  }

  /// Lets the next `recover` replace the error, and returns the position at which to continue.
  @inline(never)
  private mutating func recover(
    from error: any Error,
    at position: Int,
    end: Int
  ) async throws -> Int {
    var error = error
    for next in position..<end where core.operations[next].kind == .recover {
      if run.isCancellationRequested { break }
      pendingError = error
      do {
        if let journal = run.journal {
          try await execute(at: next, by: journal)
        } else {
          try await core.operations[next].code(&self)
        }
        recording?.recovered()
        return next + 1
      } catch let replacement {
        error = replacement
      }
    }
    throw error
  }
}

// MARK: - Chains that run as a step

extension Frame {
  /// Forks this run into some chains, which form one step of it, and returns the first branch.
  func fork(into chains: NestedChains, _ nesting: RunRecord.Nesting) -> Branch {
    let fork = Fork<Execution>(branchCount: chains.cores.count, nesting, in: run.journal) { $0.cancel($1) }
    run.setFork(fork)
    return Branch(container: run, fork: fork, recording: recording, index: 0, firstStep: stepIndex)
  }
}

// MARK: - Undos

extension Frame {
  /// The step that is the operation, which the frame has executed last.
  func step(at position: Int) -> ChainStep { ChainStep(index: stepIndex, name: core.operations[position].name) }

  /// Stores how to undo the step that has just completed.
  @inline(never)
  mutating func storeUndo(at position: Int) async {
    guard let undo = core.operations[position].undo else { return }
    let number = UndoStack.Undo.nextNumber
    await adopt([UndoStack.Undo(step: step(at: position), record: record, number: number, perform: undo(slot))])
  }

  /// Stores how to undo steps.
  mutating func adopt(_ undos: consuming [UndoStack.Undo]) async { await run.adopt(undos, in: attempt) }
}

// MARK: - From the first step to the last handler

extension Frame {
  /// Executes the steps in the current task, and then undos, `onError` and `finally`, in this order.
  @inline(__always)
  mutating func executeAll(on actor: isolated (any Actor)?) async -> Outcome<Void> {
    if pendingError == nil { run.recording?.callObservers() }
    return await Scope.$current.withValue(Scope(of: run)) {
      var error = pendingError.take()
      if error == nil {
        do {
          if run.ownsJournal, let journal = run.journal {
            try await execute(by: journal)
          } else {
            try await execute(segment: lastSegment)
          }
        } catch let thrown {
          error = thrown
        }
      }
      if let outcome = endAtOnce(with: error) { return outcome }
      return await end(with: error)
    }
  }

  // Kept out of the stack frame.
  @inline(never)
  private mutating func execute(by journal: any RunJournal) async throws {
    try await journal.inside(nil, branch: nil) { try await execute(segment: lastSegment) }
  }

  /// Ends a run after whose steps nothing follows; returns nil when something does.
  private mutating func endAtOnce(with error: (any Error)?) -> Outcome<Void>? {
    let hasHandlers = !core.errorHandlers.isEmpty || !core.finallyHandlers.isEmpty || run.hasOwnHandlers
    // Until its calls of `step` are closed, a run may get a further undo.
    guard !hasHandlers, run.journal == nil, run.calls.closeIfIdle(hasValue: error == nil), run.undosIfAny == nil else {
      return nil
    }
    let outcome = run.decide(with: error)
    return endRecord(outcome, at: lastEnd)
  }

  // Kept out of the stack frame.
  @inline(never)
  private mutating func end(with error: (any Error)?) async -> Outcome<Void> {
    if !run.calls.isClosed { await run.calls.close(hasValue: error == nil) }
    var outcome = run.decide(with: error)
    let (journal, ownsJournal) = (run.journal, run.ownsJournal)
    if let journal, ownsJournal {
      let kept = run.undosIfAny?.numbers ?? []
      let stored = await journal.conclude(outcome.map { slot.erased }, keeping: kept)
      if case .resolved(let output?) = stored { put(output) }
      outcome = stored.map { _ in }
      // What the run ended with may not be what it ends as.
      run.failedStep = if case .failed = outcome { error.map { run.failedStep(with: $0) } } else { nil }
    }
    var isFinal = !(journal?.isStopped ?? false)
    let hasValue = if case .resolved = outcome { true } else { false }
    // What contains a chain that ends with a value takes its undos.
    let taken = hasValue && run.container != nil ? nil : run.undosIfAny?.takeAll()
    var undos = hasValue || !isFinal ? [] : taken ?? []
    if hasValue, !ownsJournal, run.container == nil, let taken { journal?.dropUndos(of: taken.map(\.number)) }
    if let journal {
      await run.undoShielded(exchange(&undos, with: []), recording: run.recording)
      if ownsJournal { isFinal = await journal.finish() }
    }
    let isFailed = if case .failed = outcome { true } else { false }
    // Handlers belong to the runs that have passed their gate, which they still occupy.
    let isAdmitted = run.isAdmitted
    // Of a journal, the order does not depend on whether an undo throws.
    let reportsErrors = !core.errorHandlers.isEmpty && (journal != nil || !run.unreportedUndoErrors.isEmpty)
    if isAdmitted && (isFailed && !core.errorHandlers.isEmpty || !core.finallyHandlers.isEmpty) || !undos.isEmpty
      || reportsErrors
    {
      let state: ChainState = outcome.map { slot.erased }
      await runHandlers(state, undoing: undos, isFinal: isFinal && isAdmitted, isAdmitted: isAdmitted)
    }
    if run.hasOwnHandlers { await run.callOwnHandlers(for: outcome, with: slot) }
    if let journal, ownsJournal { await journal.end() }
    return endRecord(outcome)
  }

  private mutating func put<Output: Sendable>(_ output: Output) { slot = ValueSlot(output) }

  private func endRecord(_ outcome: Outcome<Void>, at time: Duration? = nil) -> Outcome<Void> {
    run.recording?.endRun(outcome, through: run.cancellationSource, at: time) { slot.erased }
    return outcome
  }

  private mutating func runHandlers(
    _ state: ChainState,
    undoing undos: [UndoStack.Undo],
    isFinal: Bool,
    isAdmitted: Bool
  ) async {
    let (core, run) = (core, run)
    let handlers: @concurrent @Sendable () async -> Void = {
      run.add(undoErrors: await run.undo(undos, recording: run.recording))
      if isFinal, case .failed(let error) = state, !core.errorHandlers.isEmpty {
        let step = run.failedStep ?? run.failedStep(with: error)
        for handler in core.errorHandlers { await handler(error, step) }
      }
      for error in isFinal ? run.unreportedUndoErrors : [] {
        for handler in core.errorHandlers { await handler(error, error.chainStep) }
      }
      for handler in isAdmitted ? core.finallyHandlers : [] { await handler(state) }
    }
    // A run that was not cancelled before it was decided cannot be cancelled any more.
    let isSafe = !run.isCancellationRequested
    await Scope.withCancellationShield(isCancelled: !isSafe, handlers)
  }
}

@available(*, unavailable)
extension Frame: Sendable {}
