// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One pass through the steps of a chain: the current value, and what to undo.
@usableFromInline
struct Frame: ~Copyable {
  @usableFromInline var slot: ValueSlot
  let program: Program
  let context: RunContext
  let recorder: RunRecorder?
  /// Created for the first step that can be undone.
  var undos: UndoStack?
  /// The index of the current operation in events.
  private(set) var index = 0
  /// The position of the current operation, unless it is a step.
  private var position = 0
  /// The part of the program that the current operation covers.
  private(set) var covered = 0
  /// Whether a `retry` that covers the current operation has attempts left.
  var isRetried = false
  /// The time limit around the current operation.
  var limit: CoveredSteps?
  /// The error for the next `recover` to replace.
  var failure: (any Error)?
  /// Whether the run has ended with an error of its own.
  var hasFailed = false

  init(_ context: RunContext, slot: consuming ValueSlot) {
    self.init(context, slot: slot, undos: nil, recorder: context.recorder)
  }

  /// Creates a frame for a part of the run with its own undos and record.
  init(_ context: RunContext, slot: consuming ValueSlot, undos: UndoStack?, recorder: RunRecorder?) {
    self.slot = slot
    program = context.program
    self.context = context
    self.undos = undos
    self.recorder = recorder
  }

  /// The index of the last part.
  ///
  /// Each part ends before an operation that covers it and all parts before; the last one ends at the end.
  var lastPart: Int { program.enclosings.count }

  private func start(ofPart part: Int) -> Int { part == 0 ? 0 : program.enclosings[part - 1] }
  private func end(ofPart part: Int) -> Int { part == lastPart ? program.operations.count : program.enclosings[part] }

  /// Runs the operations of one part, in a loop.
  ///
  /// The first of them covers the parts before.
  nonisolated(nonsending) mutating func perform(part: Int) async throws {
    if let recorder { return try await performRecorded(part: part, by: recorder) }
    var position = start(ofPart: part)
    let end = end(ofPart: part)
    while position < end {
      let operation = program.operations[position]
      do {
        if operation.kind == .step {
          index = context.firstStep + operation.firstStep
          guard !context.isCancellationRequested else { throw CancellationError() }
          context.enter(index)
          try await operation.code(&self)
        } else {
          try await perform(at: position, part: part)
        }
        position += 1
      } catch {
        position = try await recover(from: error, at: position, end: end)
      }
    }
  }

  @inline(never)
  private nonisolated(nonsending) mutating func perform(at position: Int, part: Int) async throws {
    let operation = program.operations[position]
    guard operation.kind != .recover else { return }
    self.position = position
    // A nested chain does not start once cancellation is requested, so its handlers are not called.
    if operation.kind == .chains, context.isCancellationRequested { throw CancellationError() }
    index = context.firstStep + operation.firstStep
    if operation.kind == .chains { context.enter(index) }
    covered = part - 1
    try await operation.code(&self)
  }

  /// Finds a `recover` after the failed operation, which replaces the error.
  ///
  /// - Returns: The position at which to continue.
  /// - Throws: The error, when it was not replaced.
  @inline(never)
  private nonisolated(nonsending) mutating func recover(
    from error: any Error,
    at position: Int,
    end: Int
  ) async throws -> Int {
    var error = error
    for next in position..<end where program.operations[next].kind == .recover {
      if context.isCancellationRequested { break }
      if let marked = undos?.takeMarked(), !marked.isEmpty {
        await context.undoShielded(marked, recorder: recorder)
        if context.isCancellationRequested { break }
      }
      failure = error
      do {
        try await program.operations[next].code(&self)
        recorder?.recovered(index)
        return next + 1
      } catch let replacement {
        error = replacement
      }
    }
    throw error
  }
}

// MARK: - Recording

extension Frame {
  @inline(never)
  private nonisolated(nonsending) mutating func performRecorded(part: Int, by recorder: RunRecorder) async throws {
    var position = start(ofPart: part)
    let end = end(ofPart: part)
    var mark = ContinuousClock.now
    while position < end {
      let operation = program.operations[position]
      do {
        if operation.kind == .step {
          try await performRecorded(operation, recorder: recorder, mark: &mark)
        } else {
          try await perform(at: position, part: part)
          mark = .now
        }
        position += 1
      } catch {
        position = try await recover(from: error, at: position, end: end)
        mark = .now
      }
    }
  }

  /// Runs a step between two readings of the clock; the first is shared with the previous step.
  private nonisolated(nonsending) mutating func performRecorded(
    _ operation: Program.Operation,
    recorder: RunRecorder,
    mark: inout ContinuousClock.Instant
  ) async throws {
    index = context.firstStep + operation.firstStep
    guard !context.isCancellationRequested else { throw CancellationError() }
    context.enter(index)
    recorder.begin(index, at: mark)
    let begun = mark
    do {
      try await StepContext.$current.withValue(RecordedStep(recorder: recorder, index: index)) {
        try await operation.code(&self)
      }
    } catch {
      mark = .now
      recorder.finish(index, after: begun.duration(to: mark), error: error, at: mark)
      throw error
    }
    mark = .now
    recorder.finish(index, after: begun.duration(to: mark), at: mark)
  }
}

// MARK: - Chains that run as a step

extension Frame {
  /// Returns the relation of the first of some runs to this run, of which they form one step.
  func fork(into count: Int = 1, until rule: ChildRunsMachine<RunContext>.Rule = .all) -> ChildRun {
    let siblings = ChildRuns(
      ChildRunsMachine(count: count, rule: rule),
      at: position,
      of: program,
      isRetried: isRetried,
      under: limit
    )
    context.setChildren(siblings)
    return ChildRun(outer: context, siblings: siblings, recorder: recorder, place: 0, firstStep: index)
  }
}

// MARK: - From the first step to the last handler

extension Frame {
  /// Runs the steps in the current task, unless the run is already cancelled, and then undos, `onError` and `finally`,
  /// in this order.
  nonisolated(nonsending) mutating func execute(isCancelled: Bool = false) async -> Outcome<Void> {
    if context.recorder?.isWatched ?? false { return await executeObserved(isCancelled: isCancelled) }
    return await executeUnobserved(isCancelled: isCancelled)
  }

  @inline(never)
  private nonisolated(nonsending) mutating func executeObserved(isCancelled: Bool) async -> Outcome<Void> {
    if !isCancelled { context.recorder?.enter() }
    return await ObservationScope.$current.withValue(context.recorder?.scope) {
      await executeUnobserved(isCancelled: isCancelled)
    }
  }

  private nonisolated(nonsending) mutating func executeUnobserved(
    isCancelled: Bool
  ) async -> Outcome<Void> {
    var failure: (any Error)?
    do {
      if isCancelled { throw CancellationError() }
      try await perform(part: lastPart)
    } catch {
      failure = error
    }
    return await conclude(with: failure)
  }

  /// Decides the outcome and runs the handlers.
  private nonisolated(nonsending) mutating func conclude(with error: (any Error)?) async -> Outcome<Void> {
    let outcome = context.close(with: error)
    var source: String?
    // Before the handlers, during which others may be cancelled.
    if case .cancelled = outcome, context.recorder != nil { source = context.cancellationSource }
    if case .failed = outcome { hasFailed = true }
    var undos: [UndoStack.Entry] = []
    if error != nil { undos = self.undos?.takeAll() ?? [] }
    if program.hasHandlers(for: outcome) || !undos.isEmpty || !context.undoErrors.isEmpty {
      let state: ChainState = outcome.map { slot.erased }
      await runHandlers(state, undoing: undos)
    }
    if let handlers = context.run?.handlers { await handlers.conclude(outcome, with: slot) }
    if let recorder = context.recorder {
      let steps = context.firstStep..<context.firstStep + program.stepCount
      recorder.leave(outcome, through: source, steps) { slot.erased }
    }
    return outcome
  }

  /// Stores how a run ends, with its output and, for a step of another run, its undos.
  @inline(never)
  consuming func end(_ run: RunState, with outcome: Outcome<Void>) {
    let isStep = context.outer != nil
    let end = RunState.End(outcome: outcome, failedStep: isStep ? nil : failedStep)
    let undos: [UndoStack.Entry] = isStep ? undos?.takeAll().reversed() ?? [] : []
    run.keep(end, slot, undos: undos)
  }

  private nonisolated(nonsending) func runHandlers(
    _ state: ChainState,
    undoing entries: [UndoStack.Entry]
  ) async {
    let (program, context) = (program, context)
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

/// A frame belongs to one run and is not shared.
@available(*, unavailable)
extension Frame: Sendable {}
