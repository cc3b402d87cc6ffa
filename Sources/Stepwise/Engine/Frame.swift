// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One pass through the steps of a chain: the current value, and what to undo.
///
/// Its asynchronous methods are mutating: the compiler passes a frame that is only borrowed as a copy, which would double
/// the memory of every run.
@usableFromInline
package struct Frame: ~Copyable {
  @usableFromInline var slot: ValueSlot
  let chain: ChainCore
  let execution: Execution
  let recording: Recording?
  /// The undos of an abandoned part; nil for those of the run.
  private let ownUndos: UndoStack?
  /// The index of the current operation in events.
  private(set) var index = 0
  /// The number of the current step in the record; -1 without one.
  private(set) var entry = -1
  /// When the previous step ended, if the next one begins then, as far as the record is concerned.
  // Not an instant, whose size the compiler does not know here.
  private var lastEnd: Duration?
  /// The part of the chain that the current operation covers.
  private(set) var covered = 0
  /// The error for the next `recover` to replace, or that ends the run before its first step.
  var failure: (any Error)?

  /// Creates a frame for a run, or for a part of it with its own undos and record.
  init(
    _ chain: ChainCore,
    _ execution: Execution,
    slot: consuming ValueSlot,
    undos: UndoStack? = nil,
    recording: Recording?
  ) {
    self.slot = slot
    self.chain = chain
    self.execution = execution
    ownUndos = undos
    self.recording = recording
  }

  /// The index of the last part.
  ///
  /// Each part ends before an operation that covers it and all parts before; the last one ends at the end.
  var lastPart: Int { chain.enclosings.count }

  private func start(ofPart part: Int) -> Int { part == 0 ? 0 : chain.enclosings[part - 1] }
  private func end(ofPart part: Int) -> Int { part == lastPart ? chain.operations.count : chain.enclosings[part] }

  /// Runs the operations of one part, in a loop; the first of them covers the parts before.
  mutating func perform(part: Int) async throws {
    var position = start(ofPart: part)
    let end = end(ofPart: part)
    let (recording, isPlain) = (recording, recording == nil && execution.journal == nil)
    while position < end {
      // Not copied into a variable, which would retain its closures and keep them in the frame.
      do {
        if chain.operations[position].kind != .step {
          try await perform(at: position, part: part)
        } else if isPlain {
          guard !execution.isCancellationRequested else { throw CancellationError() }
          index = execution.firstStep + chain.operations[position].firstStep
          execution.enter(index)
          try await chain.operations[position].code(&self)
          if chain.operations[position].isUndoable { await keepUndo(at: position) }
          execution.reportEnd(ofStep: index)
        } else {
          try await performStored(at: position, in: recording)
        }
        position += 1
      } catch {
        position = try await recover(from: error, at: position, end: end)
      }
    }
  }

  @inline(never)
  private mutating func perform(at position: Int, part: Int) async throws {
    let operation = chain.operations[position]
    guard operation.kind != .recover else { return }
    // A nested chain does not start once cancellation is requested, so its handlers are not called.
    if operation.kind == .chains, execution.journal == nil, execution.isCancellationRequested {
      throw CancellationError()
    }
    index = execution.firstStep + operation.firstStep
    if operation.kind == .chains { execution.enter(index) }
    covered = part - 1
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
    for next in position..<end where chain.operations[next].kind == .recover {
      let journal = execution.journal
      // A branch that has lost, and a run whose time is up, still replay what they did before.
      let isStored = journal?.isStored(chain.operations[next].storedName) ?? false
      if execution.isCancellationRequested, !isStored { break }
      if let marked = undosIfAny?.takeMarked(), !marked.isEmpty {
        await execution.undoShielded(marked, recording: recording)
        if execution.isCancellationRequested, !isStored { break }
      }
      failure = error
      do {
        if let journal {
          try await perform(at: next, by: journal)
        } else {
          try await chain.operations[next].code(&self)
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
  private mutating func performStored(at position: Int, in recording: Recording?) async throws {
    guard execution.journal != nil || !execution.isCancellationRequested else { throw CancellationError() }
    index = execution.firstStep + chain.operations[position].firstStep
    execution.enter(index)
    if let recording {
      entry = recording.begin(index, at: lastEnd.take() ?? recording.now)
      do {
        try await Scope.$current.withValue(scope(of: recording)) {
          // Most steps need no more, and then a frame less.
          guard execution.journal == nil, !chain.operations[position].isUndoable else {
            return try await performBody(at: position)
          }
          try await chain.operations[position].code(&self)
        }
      } catch {
        recording.finish(entry, error: error)
        throw error
      }
      let end = recording.now
      lastEnd = end
      recording.finish(entry, at: end)
    } else {
      try await performBody(at: position)
    }
    execution.reportEnd(ofStep: index)
  }

  private func scope(of recording: Recording) -> Scope {
    if ownUndos == nil { return Scope(of: execution, entry: entry) }
    // An abandoned part has another scope than its run.
    return Scope.current.inside(step: RecordedStep(recording: recording, number: entry))
  }

  @inline(never)
  private mutating func performBody(at position: Int) async throws {
    if let journal = execution.journal { return try await perform(at: position, by: journal) }
    try await chain.operations[position].code(&self)
    if chain.operations[position].isUndoable { await keepUndo(at: position) }
  }

  @inline(never)
  private mutating func perform(at position: Int, by journal: any RunJournal) async throws {
    let operation = chain.operations[position]
    try await perform(operation, by: journal, returning: operation.output)
  }

  private mutating func perform<Output: Sendable>(
    _ operation: ChainCore.Operation,
    by journal: any RunJournal,
    returning type: Output.Type
  ) async throws {
    let step = JournalStep(name: operation.storedName, isUndoable: operation.isUndoable, isPlanned: true)
    let end: JournalEnd<Output>
    do {
      end = try await journal.step(step, in: execution.journalRun) { place in
        try await journal.inside(place, branch: nil) { try await operation.code(&self) }
        return slot.take(Output.self)
      }
    } catch {
      // A stored error leaves the input where it is.
      slot = ValueSlot()
      throw error
    }
    if end.isReplayed { recording?.replayed(entry) }
    slot = ValueSlot(end.value)
    if let undo = operation.undo, let number = end.number {
      let entry = UndoStack.Entry(step: self.step, entry: entry, number: number, undo: undo(slot))
      guard let error = end.error else { return await adopt([entry]) }
      slot = ValueSlot()
      await execution.undoShielded([entry], recording: recording)
      throw error
    }
    if let error = end.error { throw error }
  }
}

// MARK: - Time limits

extension Frame {
  /// Runs the steps that the current operation covers, with a limit of which a journal may know that a part has passed.
  mutating func perform(
    limitedTo duration: Duration,
    _ clock: any Clock<Duration>,
    as name: String,
    _ perform: (inout Frame, TimeLimit) async throws -> Void
  ) async throws {
    guard let journal = execution.journal else {
      return try await perform(&self, TimeLimit(duration: duration, clock: clock))
    }
    let place = journal.open(name)
    do {
      try await journal.group(place, branch: nil, limit: duration) { rest in
        guard let rest else { return try await self.perform(part: covered) }
        let limit = TimeLimit(duration: duration, clock: clock) {
          await journal.replayed(in: place)
          try await clock.sleep(for: rest.clamped)
        }
        try await perform(&self, limit)
      }
    } catch {
      slot = ValueSlot()
      throw error
    }
  }

  /// Runs the steps that the current operation covers; when the time is up, they are cancelled and awaited.
  mutating func perform(within limit: TimeLimit) async throws {
    let steps = CoveredSteps(coveredBy: &self, undos: ownUndos)
    do {
      try await limited(to: limit, replaying: execution.journal != nil) {
        steps.currentStep
      } operation: {
        try await steps.run()
      }
      slot = steps.takeValue()
    } catch {
      recording?.timedOut(execution.firstStep..<index, error: error)
      undosIfAny?.markAll()
      throw error
    }
  }

  /// Runs the steps that the current operation covers; when the time is up, they are cancelled and no longer awaited.
  ///
  /// If they then return a value, `discard` receives it, shielded from that cancellation.
  mutating func perform<Output: Sendable>(
    abandonedAfter limit: TimeLimit,
    discarding discard: @escaping @Sendable (Output) async -> Void
  ) async throws {
    let undos = UndoStack()
    let steps = CoveredSteps(coveredBy: &self, undos: undos)
    let part = StepPart(of: execution, in: Scope.current.steps, undos: undos, isAbandonable: true)
    let scope = Scope.current.inside(part, step: nil)
    let end = Once<(result: Result<Void, any Error>, isExpired: Bool)>()
    let isCancelled = Task.isCancelled
    let work = spawn {
      // Before its first step, which the waiting task's cancellation might not precede.
      if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      let result = await Scope.$current.withValue(scope) {
        await Result.of { try await steps.run { end.settled == nil } }
      }
      await part.calls.close(hasValue: true)
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
      part.abandon()
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
      await adopt(undos.takeAll(closing: true), isMarked: true)
      throw error
    }
    await adopt(undos.takeAll(closing: true))
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
  var undos: UndoStack { ownUndos ?? execution.undos }
  var undosIfAny: UndoStack? { ownUndos ?? execution.undosIfAny }

  var step: ChainStep { ChainStep(index: index, name: chain.name(at: index - execution.firstStep)) }

  /// Stores how to undo the step that has just completed.
  @inline(never)
  mutating func keepUndo(at position: Int) async {
    guard let undo = chain.operations[position].undo else { return }
    await adopt([UndoStack.Entry(step: step, entry: entry, number: UndoStack.Entry.nextNumber, undo: undo(slot))])
  }

  /// Stores how to undo steps, if marked even when a `recover` follows; undoes those of an abandoned part immediately.
  mutating func adopt(_ entries: [UndoStack.Entry], isMarked: Bool = false) async {
    guard !entries.isEmpty, !undos.push(entries, isMarked: isMarked) else { return }
    await execution.undoLate(UndoStack.Entry.newestFirst(entries))
  }
}

// MARK: - From the first step to the last handler

extension Frame {
  /// Runs the steps in the current task, and then undos, `onError` and `finally`, in this order.
  @inline(__always)
  mutating func execute(on actor: isolated (any Actor)? = #isolation) async -> Outcome<Void> {
    if failure == nil { execution.recording?.enter() }
    return await Scope.$current.withValue(Scope(of: execution)) {
      var error = failure.take()
      if error == nil {
        do {
          try await perform(part: lastPart)
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
    let hasHandlers = chain.hasHandlers || execution.journal != nil || execution.started?.hasHandlers ?? false
    // Until its calls of `step` are closed, a run may get a further undo.
    guard !hasHandlers, execution.calls.closeIfIdle(hasValue: error == nil), undosIfAny == nil else { return nil }
    let outcome = execution.close(with: error)
    return end(outcome, through: cancellationSource(of: outcome), at: lastEnd)
  }

  // Its variables would double the memory of every run if it were a part of `execute`.
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
    let entries = hasValue && execution.outer != nil ? nil : undosIfAny?.takeAll()
    var undos = hasValue || !isFinal ? [] : entries ?? []
    if let journal, execution.outer == nil {
      await execution.undoShielded(exchange(&undos, with: []), recording: execution.recording)
      isFinal = await journal.finish()
    }
    let isFailed = if case .failed = outcome { true } else { false }
    if isFailed && !chain.errorHandlers.isEmpty || !chain.finallyHandlers.isEmpty || !undos.isEmpty
      || !execution.undoErrors.isEmpty
    {
      let state: ChainState = outcome.map { slot.erased }
      await runHandlers(state, undoing: undos, isFinal: isFinal)
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
    undoing entries: [UndoStack.Entry],
    isFinal: Bool
  ) async {
    let (chain, execution) = (chain, execution)
    let handlers: @concurrent @Sendable () async -> Void = {
      execution.keep(await execution.undo(entries, recording: execution.recording))
      if isFinal, case .failed(let error) = state, !chain.errorHandlers.isEmpty {
        let step = execution.lastStep
        for handler in chain.errorHandlers { await handler(error, step) }
      }
      for error in isFinal ? execution.undoErrors : [] {
        for handler in chain.errorHandlers { await handler(error, error.chainStep) }
      }
      for handler in chain.finallyHandlers { await handler(state) }
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
  private let chain: ChainCore
  private let execution: Execution
  private let part: Int
  private let recording: Recording?
  /// The stack for the undos of the steps that complete.
  private let undos: UndoStack?
  /// The input until the steps run, and the output once they have ended with one.
  private let value: Lock<ValueSlot>

  init(coveredBy frame: inout Frame, undos: UndoStack?) {
    chain = frame.chain
    execution = frame.execution
    part = frame.covered
    recording = frame.recording
    value = Lock(exchange(&frame.slot, with: ValueSlot()))
    self.undos = undos
  }

  init(_ chain: ChainCore, _ execution: Execution, _ input: consuming ValueSlot) {
    (self.chain, self.execution) = (chain, execution)
    (part, recording, undos) = (0, nil, nil)
    value = Lock(input)
  }

  func takeValue() -> ValueSlot { value.withLock { exchange(&$0, with: ValueSlot()) } }

  private func put(_ output: consuming ValueSlot) {
    var output: ValueSlot? = output
    value.withLock { $0 = output.take() ?? ValueSlot() }
  }

  /// Runs the steps, and records nothing of them once the run no longer awaits them.
  @concurrent func run(isAwaited: (@Sendable () -> Bool)? = nil) async throws {
    let recording = isAwaited.map { self.recording?.recording(while: $0) } ?? self.recording
    var frame = Frame(chain, execution, slot: takeValue(), undos: undos, recording: recording)
    try await frame.perform(part: part)
    put(frame.slot)
  }

  /// Runs the chain, with its handlers.
  @concurrent func execute() async -> Outcome<Void> {
    var frame = Frame(chain, execution, slot: takeValue(), recording: execution.recording)
    let outcome = await frame.execute()
    put(frame.slot)
    return outcome
  }

  var currentStep: String { execution.currentStep.description }
}
