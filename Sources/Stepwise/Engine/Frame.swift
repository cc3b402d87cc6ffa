// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One pass through the steps of a chain: the current value, and what to undo.
///
/// Its asynchronous methods are mutating: the compiler passes a frame that is only borrowed as a copy, which would double
/// the memory of every run.
@usableFromInline
package struct Frame: ~Copyable {
  @usableFromInline var slot: ValueSlot
  let core: ChainCore
  let execution: Execution
  let recording: Recording?
  /// What the steps here belong to; nil for the run itself.
  private(set) var stepScope: StepScope?
  /// The index of the current operation in events.
  private(set) var index = 0
  /// The current step in the record; nil without one.
  private(set) var record: RecordID?
  /// When the previous step ended, if the next one begins then, as far as the record is concerned.
  // Not an instant, whose size the compiler does not know here.
  private var lastEnd: Duration?
  /// The segment that the current operation covers.
  private(set) var covered = 0
  /// The error for the next `recover` to replace, or that ends the run before its first step.
  var failure: (any Error)?

  /// Creates a frame for a run, or for steps of it with their own record.
  init(
    _ core: ChainCore,
    _ execution: Execution,
    slot: consuming ValueSlot,
    recording: Recording?
  ) {
    self.slot = slot
    self.core = core
    self.execution = execution
    self.recording = recording
  }

  /// The index of the last segment.
  ///
  /// Each segment ends before an operation that covers it and all segments before; the last one ends at the end.
  var lastSegment: Int { core.enclosings.count }

  private func start(ofSegment segment: Int) -> Int { segment == 0 ? 0 : core.enclosings[segment - 1] }
  private func end(ofSegment segment: Int) -> Int {
    segment == lastSegment ? core.operations.count : core.enclosings[segment]
  }

  /// Executes the operations of one segment, in a loop; the first of them covers the segments before.
  mutating func execute(segment: Int) async throws {
    var position = start(ofSegment: segment)
    let end = end(ofSegment: segment)
    let (recording, isPlain) = (recording, recording == nil && execution.journal == nil)
    while position < end {
      // Not copied into a variable, which would retain its closures and keep them in the frame.
      do {
        if core.operations[position].kind != .step {
          try await execute(at: position, in: segment)
        } else if isPlain {
          guard !execution.isCancellationRequested else { throw CancellationError() }
          index = execution.firstStep + core.operations[position].firstStep
          execution.enter(index)
          try await core.operations[position].code(&self)
          if core.operations[position].isUndoable { await keepUndo(at: position) }
          execution.reportEnd(ofStep: index)
        } else {
          try await executeRecorded(at: position, in: recording)
        }
        position += 1
      } catch {
        position = try await recover(from: error, at: position, end: end)
      }
    }
  }

  /// Executes the operations of one segment in a scope, to which their calls of `step` belong.
  mutating func execute(segment: Int, in stepScope: StepScope?) async throws {
    let outer = exchange(&self.stepScope, with: stepScope)
    defer { self.stepScope = outer }
    try await Scope.$current.withValue(Scope.current.inside(stepScope, recordedStep: nil)) {
      try await execute(segment: segment)
    }
  }

  @inline(never)
  private mutating func execute(at position: Int, in segment: Int) async throws {
    let operation = core.operations[position]
    guard operation.kind != .recover else { return }
    // A nested chain does not start once cancellation is requested, so its handlers are not called.
    if operation.kind == .chains, execution.journal == nil, execution.isCancellationRequested {
      throw CancellationError()
    }
    index = execution.firstStep + operation.firstStep
    if operation.kind == .chains { execution.enter(index) }
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
      let journal = execution.journal
      // A branch that has lost, and a run whose time is up, still replay what they did before.
      let isStored = journal?.isStored(core.operations[next].storedName) ?? false
      if execution.isCancellationRequested, !isStored { break }
      failure = error
      do {
        if let journal {
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

// MARK: - Records and journals

extension Frame {
  /// Runs a step that a record, a journal or both know of.
  ///
  /// The record has two readings of the clock, of which the first is shared with the previous step.
  @inline(never)
  private mutating func executeRecorded(at position: Int, in recording: Recording?) async throws {
    guard execution.journal != nil || !execution.isCancellationRequested else { throw CancellationError() }
    index = execution.firstStep + core.operations[position].firstStep
    execution.enter(index)
    if let recording {
      record = recording.begin(index, at: lastEnd.take() ?? recording.now)
      do {
        try await Scope.$current.withValue(scope(of: recording)) {
          // Most steps need no more, and then a frame less.
          guard execution.journal == nil, !core.operations[position].isUndoable else {
            return try await executeOperation(at: position)
          }
          try await core.operations[position].code(&self)
        }
      } catch {
        recording.finish(record, error: error)
        throw error
      }
      let end = recording.now
      lastEnd = end
      recording.finish(record, at: end)
    } else {
      try await executeOperation(at: position)
    }
    execution.reportEnd(ofStep: index)
  }

  private func scope(of recording: Recording) -> Scope {
    if stepScope == nil { return Scope(of: execution, record: record) }
    // A step scope has another scope than its run.
    return Scope.current.inside(recordedStep: RecordedStep(recording: recording, id: record))
  }

  @inline(never)
  private mutating func executeOperation(at position: Int) async throws {
    if let journal = execution.journal { return try await execute(at: position, by: journal) }
    try await core.operations[position].code(&self)
    if core.operations[position].isUndoable { await keepUndo(at: position) }
  }

  @inline(never)
  private mutating func execute(at position: Int, by journal: any RunJournal) async throws {
    let operation = core.operations[position]
    try await execute(operation, by: journal, returning: operation.output)
  }

  private mutating func execute<Output: Sendable>(
    _ operation: ChainCore.Operation,
    by journal: any RunJournal,
    returning type: Output.Type
  ) async throws {
    let step = JournalStep(name: operation.storedName, isUndoable: operation.isUndoable, isPlanned: true)
    let end: JournalEnd<Output>
    do {
      end = try await journal.step(step, in: execution.journalRun) { key in
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
    if let undo = operation.undo, let number = end.number {
      let undo = UndoStack.Undo(step: self.step, record: record, number: number, perform: undo(slot))
      guard let error = end.error else { return await adopt([undo]) }
      slot = ValueSlot()
      await execution.undoShielded([undo], recording: recording)
      throw error
    }
    if let error = end.error { throw error }
  }
}

// MARK: - Time limits

extension Frame {
  /// Executes the segment that the current operation covers in a scope, with a limit part of which may have passed in
  /// earlier runs.
  mutating func execute(
    in stepScope: StepScope?,
    limitedTo duration: Duration,
    _ clock: any Clock<Duration>,
    as name: String,
    _ execute: (inout Frame, TimeLimit) async throws -> Void
  ) async throws {
    guard let journal = execution.journal else {
      return try await execute(&self, TimeLimit(duration: duration, clock: clock))
    }
    let key = journal.open(name)
    do {
      try await journal.group(key, branch: nil, limit: duration) { rest in
        guard let rest else { return try await self.execute(segment: covered, in: stepScope) }
        let limit = TimeLimit(duration: duration, clock: clock) {
          await journal.replayed(in: key)
          try await clock.sleep(for: rest.clamped)
        }
        try await execute(&self, limit)
      }
    } catch {
      slot = ValueSlot()
      throw error
    }
  }

  /// Executes the segment that the current operation covers; when the time is up, it is cancelled and awaited.
  mutating func execute(in stepScope: StepScope?, within limit: TimeLimit) async throws {
    let steps = CoveredSteps(coveredBy: &self, in: stepScope)
    do {
      try await limited(to: limit, replaying: execution.journal != nil) {
        steps.currentStep
      } operation: {
        try await steps.execute()
      }
      slot = steps.takeValue()
    } catch {
      recording?.timedOut(execution.firstStep..<index, error: error)
      throw error
    }
  }

  /// Executes the segment that the current operation covers in a scope; when the time is up, it is cancelled and no
  /// longer awaited.
  ///
  /// If they then return a value, `discard` receives it, shielded from that cancellation.
  mutating func execute<Output: Sendable>(
    in stepScope: StepScope,
    abandonedAfter limit: TimeLimit,
    discarding discard: @escaping @Sendable (Output) async -> Void
  ) async throws {
    let steps = CoveredSteps(coveredBy: &self, in: stepScope)
    let end = Once<(result: Result<Void, any Error>, isExpired: Bool)>()
    let isCancelled = Task.isCancelled
    let work = spawn {
      // Before its first step, which the waiting task's cancellation might not precede.
      if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      let result = await Result.of { try await steps.execute { end.settled == nil } }
      await stepScope.calls.close(hasValue: true)
      guard !end.settle((result, isExpired: false)), case .success = result else { return }
      await Scope.withCancellationShield {
        var late = steps.takeValue()
        await discard(late.take())
      }
    }
    let timer = spawn {
      guard (try? await limit.sleep()) != nil else { return }
      let error = TimeoutError(step: steps.currentStep, duration: limit.duration)
      guard end.settle((.failure(error), isExpired: true)) else { return }
      stepScope.abandon()
      work.cancel()
    }
    defer { timer.cancel() }
    let (result, isExpired) = await withTaskCancellationHandler {
      guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
        return await end.valueIgnoringCancellation()
      }
      return await withTaskPriorityEscalationHandler {
        // An escalation may have occurred before the handler was registered.
        work.escalatePriority(to: Task.currentPriority)
        return await end.valueIgnoringCancellation()
      } onPriorityEscalated: { _, priority in
        work.escalatePriority(to: priority)
      }
    } onCancel: {
      work.cancel()
    }
    if case .failure(let error) = result {
      if isExpired { recording?.abandon(execution.firstStep..<index, error: error) }
      execution.setFork(nil)
      throw error
    }
    slot = steps.takeValue()
  }
}

// MARK: - Chains that run as a step

extension Frame {
  /// Returns the relation of the first of some chains to this run, of which they form one step.
  func fork(into chains: NestedChains, _ nesting: RunRecord.Nesting) -> Child {
    let fork = Fork(chains.cores, nesting, in: execution.journal)
    execution.setFork(fork)
    return Child(outer: execution, fork: fork, recording: recording, branch: 0, firstStep: index)
  }
}

// MARK: - Undos

extension Frame {
  var step: ChainStep { ChainStep(index: index, name: core.name(at: index - execution.firstStep)) }

  /// Stores how to undo the step that has just completed.
  @inline(never)
  mutating func keepUndo(at position: Int) async {
    guard let undo = core.operations[position].undo else { return }
    await adopt([UndoStack.Undo(step: step, record: record, number: UndoStack.Undo.nextNumber, perform: undo(slot))])
  }

  /// Stores how to undo steps.
  mutating func adopt(_ undos: [UndoStack.Undo]) async { await execution.adopt(undos, in: stepScope) }
}

// MARK: - From the first step to the last handler

extension Frame {
  /// Runs the steps in the current task, and then undos, `onError` and `finally`, in this order.
  @inline(__always)
  mutating func run(on actor: isolated (any Actor)? = #isolation) async -> Outcome<Void> {
    if failure == nil { execution.recording?.enter() }
    return await Scope.$current.withValue(Scope(of: execution)) {
      var error = failure.take()
      if error == nil {
        do {
          try await execute(segment: lastSegment)
        } catch let thrown {
          error = thrown
        }
      }
      if let outcome = concludeAtOnce(with: error) { return outcome }
      return await conclude(with: error)
    }
  }

  /// Ends a run after whose steps nothing follows; returns nil when something does.
  private mutating func concludeAtOnce(with error: (any Error)?) -> Outcome<Void>? {
    let hasHandlers = core.hasHandlers || execution.journal != nil || execution.started?.hasHandlers ?? false
    // Until its calls of `step` are closed, a run may get a further undo.
    guard !hasHandlers, execution.calls.closeIfIdle(hasValue: error == nil), execution.undosIfAny == nil else {
      return nil
    }
    let outcome = execution.close(with: error)
    return end(outcome, through: cancellationSource(of: outcome), at: lastEnd)
  }

  // Kept out of the frame.
  @inline(never)
  private mutating func conclude(with error: (any Error)?) async -> Outcome<Void> {
    if !execution.calls.isClosed { await execution.calls.close(hasValue: error == nil) }
    var outcome = execution.close(with: error)
    let journal = execution.journal
    if let journal, execution.outer == nil {
      outcome = await journal.conclude(outcome.map { slot.erased })
      // What the run ended with may not be what it ends as.
      execution.started?.failedStep = if case .failed = outcome { execution.lastStep } else { nil }
    }
    var isFinal = !(journal?.isStopped ?? false)
    // Before the handlers, during which others may be cancelled.
    let source = cancellationSource(of: outcome)
    let hasValue = if case .resolved = outcome { true } else { false }
    // What contains a chain that ends with a value takes its undos.
    let taken = hasValue && execution.outer != nil ? nil : execution.undosIfAny?.takeAll()
    var undos = hasValue || !isFinal ? [] : taken ?? []
    if let journal, execution.outer == nil {
      await execution.undoShielded(exchange(&undos, with: []), recording: execution.recording)
      isFinal = await journal.finish()
    }
    let isFailed = if case .failed = outcome { true } else { false }
    // Handlers belong to the runs that have passed their gate, which they still occupy.
    let isAdmitted = execution.started?.isAdmitted ?? true
    if isAdmitted && (isFailed && !core.errorHandlers.isEmpty || !core.finallyHandlers.isEmpty) || !undos.isEmpty
      || !execution.undoErrors.isEmpty
    {
      let state: ChainState = outcome.map { slot.erased }
      await runHandlers(state, undoing: undos, isFinal: isFinal && isAdmitted, isAdmitted: isAdmitted)
    }
    if let run = execution.started { await run.conclude(outcome, with: slot) }
    if let journal, execution.outer == nil { await journal.end() }
    return end(outcome, through: source)
  }

  private func cancellationSource(of outcome: Outcome<Void>) -> String? {
    guard case .cancelled = outcome, execution.recording != nil else { return nil }
    return execution.cancellationSource
  }

  private func end(
    _ outcome: Outcome<Void>,
    through source: String?,
    at time: Duration? = nil
  ) -> Outcome<Void> {
    execution.recording?.leave(outcome, through: source, at: time) { slot.erased }
    execution.complete()
    return outcome
  }

  private mutating func runHandlers(
    _ state: ChainState,
    undoing undos: [UndoStack.Undo],
    isFinal: Bool,
    isAdmitted: Bool
  ) async {
    let (core, execution) = (core, execution)
    let handlers: @concurrent @Sendable () async -> Void = {
      execution.keep(await execution.undo(undos, recording: execution.recording))
      if isFinal, case .failed(let error) = state, !core.errorHandlers.isEmpty {
        let step = execution.lastStep
        for handler in core.errorHandlers { await handler(error, step) }
      }
      for error in isFinal ? execution.undoErrors : [] {
        for handler in core.errorHandlers { await handler(error, error.chainStep) }
      }
      for handler in isAdmitted ? core.finallyHandlers : [] { await handler(state) }
    }
    // A run with its own task that was not cancelled before it was closed cannot be cancelled any more.
    let isSafe = execution.started.map { !$0.isCancellationRequested && !Task.isCancelled } ?? false
    await Scope.withCancellationShield(isCancelled: !isSafe, handlers)
  }
}

@available(*, unavailable)
extension Frame: Sendable {}

/// Steps that run in their own task: those that a modifier covers, under a timer or abandoned, or all of a chain.
final class CoveredSteps: Sendable {
  private let core: ChainCore
  private let execution: Execution
  private let segment: Int
  private let recording: Recording?
  private let stepScope: StepScope?
  /// The input until the steps run, and the output once they have ended with one.
  private let value: Lock<ValueSlot>

  init(coveredBy frame: inout Frame, in stepScope: StepScope?) {
    core = frame.core
    execution = frame.execution
    segment = frame.covered
    recording = frame.recording
    value = Lock(exchange(&frame.slot, with: ValueSlot()))
    self.stepScope = stepScope
  }

  init(_ core: ChainCore, _ execution: Execution, _ input: consuming ValueSlot) {
    (self.core, self.execution) = (core, execution)
    (segment, recording, stepScope) = (0, nil, nil)
    value = Lock(input)
  }

  func takeValue() -> ValueSlot { value.withLock { exchange(&$0, with: ValueSlot()) } }

  private func put(_ output: consuming ValueSlot) {
    var output: ValueSlot? = output
    value.withLock { $0 = output.take() ?? ValueSlot() }
  }

  /// Runs the steps, and records nothing of them once the run no longer awaits them.
  @concurrent func execute(isAwaited: (@Sendable () -> Bool)? = nil) async throws {
    let recording = isAwaited.map { self.recording?.recording(while: $0) } ?? self.recording
    var frame = Frame(core, execution, slot: takeValue(), recording: recording)
    try await frame.execute(segment: segment, in: stepScope)
    put(frame.slot)
  }

  /// Runs the chain, with its handlers.
  @concurrent func run() async -> Outcome<Void> {
    var frame = Frame(core, execution, slot: takeValue(), recording: execution.recording)
    let outcome = await frame.run()
    put(frame.slot)
    return outcome
  }

  var currentStep: String { execution.currentStep.description }
}
