// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A chain prepared for running, with its types erased: the path of its elements as one array, and the supervision of its
/// runs.
@usableFromInline
final class ChainCore: Sendable {
  struct Operation: Sendable {
    enum Kind {
      case step, chains, recover, enclosing
    }

    let kind: Kind
    /// Whether it is a step with an undo.
    let isUndoable: Bool
    /// The number of steps before it, including those of nested chains; not an `Int`, so that long chains are small.
    let first: UInt32
    let code: StepCode
    let node: Node

    var firstStep: Int { Int(first) }
    var undo: StepUndo? { if case .step(_, _, let undo, _) = node.kind { undo?.value } else { nil } }

    /// The type of what it leaves in the slot; of no use for nested chains and for what encloses steps.
    var output: any Sendable.Type {
      switch node.kind {
      case .step(_, let output, _, _), .recover(let output, _): output
      default: Void.self
      }
    }

    /// The name that a journal knows the operation by.
    var storedName: String {
      if case .step(let name, _, _, _) = node.kind { return ChainStep(index: firstStep, name: name).description }
      return "recover"
    }
  }

  /// The last element of its path.
  let node: Node
  private let first: Node
  let operations: [Operation]
  /// The positions of the operations that cover everything before them.
  let enclosings: [Int]
  let stepCount: Int
  let errorHandlers: [ErrorHandler]
  let finallyHandlers: [FinallyHandler]
  let overlap: Overlap
  /// How its runs enter its gate; nil when they overlap freely.
  let entrance: Entrance?
  /// The name and the observers, if it has any.
  let identity: ChainIdentity
  let counter = InFlightCounter()
  private let madeSummary = Lock<ChainSummary?>(nil)
  private let generations = Lock<(first: Generation?, later: Generation?)>((nil, nil))

  init(_ path: Path) {
    node = path.node
    identity = path.identity
    // Last one first, since a node knows only the one before it.
    let nodes = sequence(first: path.node, next: \.parent)
    let (count, stepCount) = nodes.reduce((0, 0)) { ($0.0 + 1, $0.1 + $1.stepCount) }
    var firstStep = stepCount
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    var errorHandlers: [ErrorHandler] = []
    var finallyHandlers: [FinallyHandler] = []
    var overlap: Overlap?
    var first = node
    for node in nodes {
      first = node
      firstStep -= node.stepCount
      func add(_ kind: Operation.Kind, _ code: @escaping StepCode, isUndoable: Bool = false) {
        let first = UInt32(clamping: firstStep)
        operations.append(Operation(kind: kind, isUndoable: isUndoable, first: first, code: code, node: node))
      }
      switch node.kind {
      case .step(_, _, let undo, let code): add(.step, code, isUndoable: undo != nil)
      case .chains(_, _, let code): add(.chains, code)
      case .recover(_, let code): add(.recover, code)
      case .enclosing(_, let code): add(.enclosing, code)
      case .onError(let handler): errorHandlers.append(handler)
      case .finally(let handler): finallyHandlers.append(handler)
      case .overlap(let policy): overlap = overlap ?? policy
      }
    }
    self.first = first
    operations.reverse()
    self.operations = operations
    enclosings = operations.indices.filter { operations[$0].kind == .enclosing }
    self.stepCount = stepCount
    self.errorHandlers = errorHandlers.reversed()
    self.finallyHandlers = finallyHandlers
    self.overlap = overlap ?? .concurrent
    entrance = self.overlap.mode.map { Entrance(gate: Gate(slots: 1), mode: $0) }
  }

  var hasHandlers: Bool { !errorHandlers.isEmpty || !finallyHandlers.isEmpty }

  func name(at index: Int) -> String? { summary.names[index] }

  /// What records and errors need of the chain; made for the first of them.
  ///
  /// Retaining it does not retain the steps.
  var summary: ChainSummary {
    if let summary = madeSummary.withLock({ $0 }) { return summary }
    var names: [Int: String] = [:]
    var pending = [(chain: self, firstStep: 0)]
    while let (chain, first) = pending.popLast() {
      for operation in chain.operations {
        var step = first + operation.firstStep
        switch operation.node.kind {
        case .step(let name?, _, _, _): names[step] = name
        case .chains(let chains, _, _):
          for chain in chains.cores {
            pending.append((chain, step))
            step += chain.stepCount
          }
        default: break
        }
      }
    }
    let summary = ChainSummary(identity: identity, stepCount: stepCount, names: names)
    madeSummary.withLock { $0 = summary }
    return summary
  }

  /// A run begins; `end()` follows, after its handlers.
  private func begin() {
    counter.begin()
    RunsBegun.forEach { $0.begin() }
  }

  private func end() {
    counter.end()
    RunsBegun.forEach { $0.end() }
  }

  // MARK: - Cancelling all runs

  /// The token, which it shares with the chains derived from it.
  var token: CancellationToken { first.token.value }
  var tokenIfMade: CancellationToken? { first.token.ifMade }

  // What cancels the runs that start between two calls of `cancelRuns` is the second call, or the chain's token. It
  // interrupts a run made by `start`; a plain run checks it before each step.

  private typealias Generation = (token: CancellationToken, key: CancellationToken.Key?)

  private func makeGeneration() -> Generation {
    let new = CancellationToken()
    // A linked token would be referenced weakly, which makes each further reference to it slower.
    return (new, token.listen { new.cancel(reason: $0) })
  }

  /// Of the runs that start before the first call; made when something listens to it or cancels it.
  var firstGeneration: CancellationToken { generations.withLock { $0.first.stored(or: makeGeneration()).token } }
  var firstGenerationIfMade: CancellationToken? { generations.withLock { $0.first?.token } }
  private var laterGeneration: CancellationToken? { generations.withLock { $0.later?.token } }

  func cancelRuns(reason: String?) {
    let next = makeGeneration()
    let left = generations.withLock { exchange(&$0.later, with: next) }
    token.remove(left?.key)
    (left?.token ?? firstGeneration).cancel(reason: reason)
  }

  // No run is in flight.
  deinit {
    tokenIfMade?.remove(generations.withLock { $0.first?.key })
    tokenIfMade?.remove(generations.withLock { $0.later?.key })
  }
}

// A run does not know the types of the values that pass through it. The typed callers of these methods store the first
// input in the frame and remove the last output from it.

// MARK: - For the caller's task

extension ChainCore {
  /// Returns a run that the caller's task awaits; nil when it has to pass the gate.
  @usableFromInline
  func makePlainRun() -> Execution? { entrance == nil ? makeExecution() : nil }

  private func makeExecution(as child: Child? = nil) -> Execution {
    let count = CancellationCount.current
    let scope = Scope.current
    if scope.isOutside { return Execution(self, laterGeneration, checked: count) }
    let origin = Execution.Origin.inside(scope, as: child, stepCount: stepCount)
    return Execution(self, laterGeneration, in: scope.context, from: origin, checked: count)
  }

  /// Runs the chain, and leaves the caller's actor for that, once for all steps.
  // Isolated to a parameter that is nil: a concurrent function would switch executors twice more, to bind the scope.
  @usableFromInline
  func run(_ execution: Execution, _ slot: inout ValueSlot, on actor: isolated (any Actor)? = nil) async throws {
    begin()
    defer { end() }
    try await run(execution, &slot, actor).get()
  }

  /// Runs the chain on the input in the slot, which then has the output, if there is one.
  @inline(__always)
  private func run(
    _ run: Execution,
    _ slot: inout ValueSlot,
    _ actor: isolated (any Actor)?
  ) async -> Outcome<Void> {
    if tokenIfMade?.isAccessed ?? false { return await runApart(run, &slot) }
    var frame = Frame(self, run, slot: exchange(&slot, with: ValueSlot()), recording: run.recording)
    let outcome = await frame.run(on: actor)
    if case .resolved = outcome { slot = frame.slot }
    return outcome
  }

  /// Runs the chain in a separate task, because its token cannot cancel the caller's.
  @inline(never)
  private func runApart(_ execution: Execution, _ slot: inout ValueSlot) async -> Outcome<Void> {
    let steps = CoveredSteps(self, execution, exchange(&slot, with: ValueSlot()))
    let isCancelled = Task.isCancelled
    let task = spawn { () async throws -> Outcome<Void> in
      // Before its first step, which the caller's cancellation might not precede.
      if isCancelled { withUnsafeCurrentTask { $0?.cancel() } }
      return await steps.run()
    }
    do {
      let outcome = try await task.value(cancelledBy: execution.ownGeneration ?? firstGeneration)
      if case .resolved = outcome { slot = steps.takeValue() }
      return outcome
    } catch {
      return .failed(error)
    }
  }

  /// Runs the chain as a step of another run, on the input in the slot, which then has the output, if there is one.
  ///
  /// - Returns: How to undo what was completed.
  /// - Throws: The error of the run; when it was cancelled with the other run, the error of the interrupted step.
  func run(_ slot: inout ValueSlot, as child: Child) async throws -> [UndoStack.Undo] {
    guard let journal = child.outer.journal, let key = child.fork.key else {
      return try await runUnstored(&slot, as: child)
    }
    // A stored error leaves the input where it is.
    var own = exchange(&slot, with: ValueSlot())
    let branch = child.fork.nesting == .chain ? nil : child.branch
    let undos = try await journal.group(key, branch: branch, limit: nil) { _ in try await runUnstored(&own, as: child) }
    slot = own
    return undos
  }

  private func runUnstored(_ slot: inout ValueSlot, as child: Child) async throws -> [UndoStack.Undo] {
    guard entrance == nil else { return try await runNested(&slot, as: child) }
    begin()
    defer { end() }
    let execution = makeExecution(as: child)
    try Self.check(await run(execution, &slot, #isolation), in: child.outer)
    return execution.undosIfAny?.takeAll() ?? []
  }

  @inline(never)
  private func runNested(_ slot: inout ValueSlot, as child: Child) async throws -> [UndoStack.Undo] {
    let run = try await runApart(exchange(&slot, with: ValueSlot()), as: child)
    if let outcome = run.completed { try Self.check(outcome, in: child.outer) }
    slot = run.takeValue()
    return run.undos.takeAll()
  }

  private static func check(_ outcome: Outcome<Void>, in outer: Execution) throws {
    if case .cancelled(let cancellation) = outcome, let error = cancellation.underlyingError,
      outer.isCancellationRequested
    {
      throw error
    }
    try outcome.get()
  }
}

// MARK: - In its own task

extension ChainCore {
  private typealias Listener = (token: CancellationToken, key: CancellationToken.Key?)

  /// Admits a run and starts its task, which every source of cancellation can cancel.
  ///
  /// A run with a recorder belongs to a handle. Any other one belongs to the current task, which awaits it. Admission
  /// is decided before this method returns, so that it follows the order of the calls. A run that is already cancelled
  /// is not admitted, so that it displaces no other run.
  func launch(
    _ run: StartedRun,
    for handle: RunRecorder? = nil,
    priority: TaskPriority? = nil,
    as child: Child? = nil
  ) -> Task<Void, any Error> {
    let count = CancellationCount.current
    // Read before the run counts as in flight: a later `cancelRuns` applies to it.
    let generation = laterGeneration ?? firstGeneration
    begin()
    let key = generation.listen { run.cancel(reason: $0) }
    let scope = Scope.current
    let context = handle == nil ? scope.context : scope.context?.ofStartedRuns
    let listeners: [Listener] = context?.tokens.map { ($0, $0.listen { run.cancel(reason: $0) }) } ?? []
    if handle == nil, Task.isCancelled { run.cancel(reason: scope.cancellationCause?.reason) }
    // The token may still be calling handlers, and cancels the generation after them.
    if let request = tokenIfMade?.request { run.cancel(reason: request.reason) }
    if !run.isCancellationRequested { run.enterGate(reason: overlap.name) }
    let origin = handle == nil ? Execution.Origin.inside(scope, as: child, stepCount: stepCount) : nil
    let execution = Execution(self, generation, started: run, handle: handle, in: context, from: origin, checked: count)
    let task = spawn(priority: priority) { () async throws -> Void in
      await self.run(run, as: execution, key, listeners)
    }
    run.attach(task)
    return task
  }

  /// Runs the chain in its own task, which the caller's task awaits and cancels.
  ///
  /// - Returns: The run, which has ended.
  /// - Throws: ``ChainError/reentrant`` when the run would wait for the run that called this.
  func runApart(
    _ input: consuming ValueSlot,
    as child: Child? = nil,
    with journal: (any RunJournal)? = nil
  ) async throws -> StartedRun {
    let scope = Scope.current
    if let entrance, scope.startedRuns.contains(where: { $0.blocks(entrance) }) {
      throw ChainError.reentrant
    }
    let run = StartedRun(entrance: entrance, input: input, inside: scope.startedRun, journal: journal)
    let task = launch(run, as: child)
    await withTaskCancellationHandler {
      _ = await task.result
    } onCancel: {
      run.cancel(reason: scope.cancellationCause?.reason ?? child?.outer.request?.reason)
    }
    return run
  }

  @usableFromInline
  func runApart<Input: Sendable, Output: Sendable>(_ input: Input) async throws -> Output {
    try await runApart(ValueSlot(input)).takeOutput()
  }

  @inline(never)
  private func run(
    _ run: StartedRun,
    as execution: Execution,
    _ key: CancellationToken.Key?,
    _ listeners: [Listener],
    on actor: isolated (any Actor)? = nil
  ) async {
    var frame = Frame(self, execution, slot: run.takeValue(), recording: execution.recording)
    if !run.isDirect, let earlier = await run.prepare(&frame.slot, failure: &frame.failure) {
      return finish(run, earlier, frame.slot, execution, key, listeners)
    }
    // Cancelled at its gate, it still replays what it did before, for the sake of its undos.
    if execution.outer?.journal != nil { frame.failure = nil }
    let outcome = await frame.run(on: actor)
    finish(run, outcome, frame.slot, execution, key, listeners)
  }

  /// Ends the registrations of a run, and then resumes the tasks that wait for it.
  // Kept out of the frame.
  @inline(never)
  private func finish(
    _ run: StartedRun,
    _ outcome: Outcome<Void>,
    _ slot: consuming ValueSlot,
    _ execution: Execution,
    _ key: CancellationToken.Key?,
    _ listeners: [Listener]
  ) {
    execution.ownGeneration?.remove(key)
    for (token, listener) in listeners { token.remove(listener) }
    if run.entrance != nil { run.leaveGate() }
    run.complete(outcome, slot)
    end()
    if execution.hasHandle { execution.recording?.recorder.end(outcome.map { run }) }
    // Last: what awaits the run resumes while nothing is left to do here.
    run.completion.settle(())
  }
}

// MARK: - Supervision

/// Counts what is in flight, such as the runs of a chain, or the calls of `step` in a run until that is closed.
///
/// The count is stored above four flags. What ends as the last one closes a counter that is to be closed, so that
/// nothing further can begin in between.
struct InFlightCounter: ~Copyable, Sendable {
  private static var closed: Int { 1 }
  private static var hasNoValue: Int { 2 }
  private static var isAwaited: Int { 4 }
  private static var isClosing: Int { 8 }
  private static var one: Int { 16 }

  private let state = Atomic(0)
  /// Settled when nothing is in flight; non-nil while there may be waiters.
  private let waiter = Lock<Once<Void>?>(nil)

  var count: Int { state.load(ordering: .acquiring) / Self.one }

  var isClosed: Bool { state.load(ordering: .acquiring) & Self.closed != 0 }

  /// Whether it was closed with an error, or abandoned.
  var hasEndedWithoutValue: Bool {
    let end = Self.closed | Self.hasNoValue
    return state.load(ordering: .acquiring) & end == end
  }

  /// Counts what is about to begin; returns false when it may not begin any more.
  @discardableResult
  func begin() -> Bool {
    guard state.add(Self.one, ordering: .acquiringAndReleasing).oldValue & Self.closed != 0 else { return true }
    end()
    return false
  }

  func end() {
    let left = state.subtract(Self.one, ordering: .acquiringAndReleasing).newValue
    if left & Self.isAwaited != 0, left < Self.one { settleIfIdle() }
  }

  /// Returns what is settled when nothing is in flight.
  func drain() -> Once<Void> {
    let drained = waiter.withLock { $0.stored(or: Once()) }
    state.bitwiseOr(Self.isAwaited, ordering: .acquiringAndReleasing)
    settleIfIdle()
    return drained
  }

  /// Closes a counter that is to be closed, and resumes the waiters, unless something is in flight.
  @inline(never)
  private func settleIfIdle() {
    // All inside the lock: what waits from then on has another waiter, since something may have begun.
    waiter.withLock { waiter -> Once<Void>? in
      var old = state.load(ordering: .acquiring)
      while old & Self.isAwaited != 0, old < Self.one {
        let idle = old & ~Self.isAwaited
        let new = old & Self.isClosing == 0 ? idle : idle | Self.closed
        let (isIdle, found) = state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
        if isIdle { return waiter.take() }
        old = found
      }
      return nil
    }?.settle(())
  }

  /// Lets nothing further begin, unless something is in flight; returns whether it did.
  func closeIfIdle(hasValue: Bool) -> Bool {
    let closed = Self.closed | (hasValue ? 0 : Self.hasNoValue)
    return state.compareExchange(expected: 0, desired: closed, ordering: .acquiringAndReleasing).exchanged
  }

  /// Waits until nothing is in flight, and then lets nothing begin any more.
  func close(hasValue: Bool) async {
    if closeIfIdle(hasValue: hasValue) { return }
    state.bitwiseOr(Self.isClosing | (hasValue ? 0 : Self.hasNoValue), ordering: .acquiringAndReleasing)
    await drain().valueIgnoringCancellation()
  }

  /// Lets nothing further begin, without waiting for what is in flight.
  func abandon() { state.bitwiseOr(Self.closed | Self.hasNoValue, ordering: .acquiringAndReleasing) }
}

/// Counts the runs that begin under a task-local value.
///
/// A run begins and ends in tasks with the same task-local values.
final class RunsBegun: Sendable {
  @TaskLocal static var current: RunsBegun?
  /// Whether the process uses any; otherwise no run looks for the task-local value.
  private static let isUsed = Atomic(false)

  /// The runs around these, which they belong to as well.
  private let outer: RunsBegun?
  let counter = InFlightCounter()

  init(in outer: RunsBegun?) {
    self.outer = outer
    Self.isUsed.store(true, ordering: .releasing)
  }

  static func forEach(_ body: (borrowing InFlightCounter) -> Void) {
    guard isUsed.load(ordering: .acquiring), let current else { return }
    for runs in sequence(first: current, next: \.outer) { body(runs.counter) }
  }
}
