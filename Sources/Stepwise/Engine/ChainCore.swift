// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain prepared for running, with its types erased: the path of its elements as one array, and the supervision of its
/// runs.
@usableFromInline
final class ChainCore: DescribedChain, @unchecked Sendable {  // Safety: it has constants alone.
  struct Operation: Sendable {
    enum Kind {
      case step, chains, recover, covering
    }

    let kind: Kind
    /// Whether it is a step with an undo.
    let isUndoable: Bool
    /// The number of steps before it, including those of nested chains; not an `Int`, so that long chains are small.
    let before: UInt32
    let code: StepCode
    let node: Node

    var stepsBefore: Int { Int(before) }
    /// The name of the step, if the chain gives it one.
    var name: String? { if case .step(let name, _, _, _) = node.kind { name } else { nil } }
    var undo: StepUndo? { if case .step(_, _, let undo, _) = node.kind { undo?.value } else { nil } }

    /// The type of what it leaves in the slot; of no use for nested chains and for what covers steps.
    var output: any Sendable.Type {
      switch node.kind {
      case .step(_, let output, _, _), .recover(let output, _): output
      default: Void.self
      }
    }

    /// The name that a journal knows the operation by.
    var storedName: String {
      kind == .step ? ChainStep(index: stepsBefore, name: name).description : "recover"
    }
  }

  /// The last element of its path.
  let node: Node
  let operations: [Operation]
  /// The positions of the operations that cover everything before them.
  let coveringPositions: [Int]
  let errorHandlers: [ErrorHandler]
  let finallyHandlers: [FinallyHandler]
  /// How its runs join one; nil when each is on its own.
  let coalescing: Coalescing?
  /// How its runs enter its gate; nil when they overlap freely.
  let entrance: Entrance?
  let counter = InFlightCounter()

  /// The runs in flight of the chains that begin with the same element, and their token.
  var registry: RunRegistry { node.registry }

  init(_ path: Path) {
    node = path.node
    // Last one first, since a node knows only the one before it.
    let nodes = sequence(first: path.node, next: \.parent)
    let (count, stepCount) = nodes.reduce((0, 0)) { ($0.0 + 1, $0.1 + $1.stepCount) }
    var stepsBefore = stepCount
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    var errorHandlers: [ErrorHandler] = []
    var finallyHandlers: [FinallyHandler] = []
    var overlap: Overlap?
    var coalescing: Coalescing?
    for node in nodes {
      stepsBefore -= node.stepCount
      func add(_ kind: Operation.Kind, _ code: @escaping StepCode, isUndoable: Bool = false) {
        let before = UInt32(clamping: stepsBefore)
        operations.append(Operation(kind: kind, isUndoable: isUndoable, before: before, code: code, node: node))
      }
      switch node.kind {
      case .step(_, _, let undo, let code): add(.step, code, isUndoable: undo != nil)
      case .chains(_, _, let code): add(.chains, code)
      case .recover(_, let code): add(.recover, code)
      case .covering(_, let code): add(.covering, code)
      case .onError(let handler): errorHandlers.append(handler)
      case .finally(let handler): finallyHandlers.append(handler)
      case .overlap(let policy): overlap = overlap ?? policy
      case .coalesced(let key): coalescing = coalescing ?? Coalescing(key)
      }
    }
    operations.reverse()
    self.operations = operations
    coveringPositions = operations.indices.filter { operations[$0].kind == .covering }
    self.errorHandlers = errorHandlers.reversed()
    self.finallyHandlers = finallyHandlers
    self.coalescing = coalescing
    entrance = overlap.flatMap { Entrance($0) }
    super.init(path.identity, stepCount: stepCount)
  }

  /// Whether an operation is code between steps: a `recover`, and the only closure of its chain unless it can be undone,
  /// whatever is appended to the chain.
  ///
  /// A durable run stores the steps that such a closure calls, and not the closure.
  func isCode(at position: Int) -> Bool {
    if operations[position].kind == .recover { return true }
    guard position == 0, operations[0].kind == .step, !operations[0].isUndoable, !operations[0].node.isReusable else {
      return false
    }
    return !operations.dropFirst().contains { $0.kind == .step && !$0.node.isReusable }
  }

  /// Returns what records a run that starts here, apart from the calling task.
  func makeRecorder() -> RunRecorder {
    RunRecorder(of: summary, .make(for: summary, identity.observers, in: Scope.current.context?.observation))
  }

  override var names: [Int: String] {
    var names: [Int: String] = [:]
    var pending = [(chain: self, firstStep: 0)]
    while let (chain, first) = pending.popLast() {
      for operation in chain.operations {
        var step = first + operation.stepsBefore
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
    return names
  }
}

// MARK: - Running

// A run does not know the types of the values that pass through it. The typed callers of these methods store the first
// input in a slot and remove the last output from one.
extension ChainCore {
  /// Runs the chain on an input, and returns its output.
  @usableFromInline
  func run(_ input: consuming ValueSlot) async throws -> ValueSlot { try await runAwaited(input).takeOutput() }

  /// Runs the chain as a step of another run, on the input in the slot, which then has the output, if there is one.
  ///
  /// - Returns: How to undo what was completed.
  /// - Throws: The error of the run; when it was cancelled with the other run, the error of the interrupted step.
  func run(_ slot: inout ValueSlot, as branch: Branch) async throws -> [UndoStack.Undo] {
    guard let journal = branch.container.journal, let key = branch.fork.journalKey else {
      return try await runUnstored(&slot, as: branch)
    }
    // A stored error leaves the input where it is.
    var own = exchange(&slot, with: ValueSlot())
    let index = branch.fork.nesting == .chain ? nil : branch.index
    let undos = try await journal.inside(key, branch: index) { try await runUnstored(&own, as: branch) }
    slot = own
    return undos
  }

  private func runUnstored(_ slot: inout ValueSlot, as branch: Branch) async throws -> [UndoStack.Undo] {
    let run = try await runAwaited(exchange(&slot, with: ValueSlot()), as: branch)
    if let outcome = run.completed { try Self.check(outcome, in: branch.container) }
    slot = run.takeValue()
    return run.undosIfAny?.close() ?? []
  }

  private static func check(_ outcome: Outcome<Void>, in container: Execution) throws {
    if case .cancelled(let cancellation) = outcome, let error = cancellation.underlyingError,
      container.isCancellationRequested
    {
      throw error
    }
    try outcome.get()
  }

  /// Runs the chain in a task of its own, which every source of cancellation can cancel; the caller's task awaits it, and
  /// is one of them.
  ///
  /// - Returns: The run, which has ended.
  /// - Throws: ``ChainError/reentrant`` when the run would wait for the run that called this.
  func runAwaited(
    _ input: consuming ValueSlot,
    as branch: Branch? = nil,
    with journal: (any RunJournal)? = nil
  ) async throws -> Execution {
    let scope = Scope.current
    if let entrance, scope.isBlocking(entrance.gate) { throw ChainError.reentrant }
    if let coalescing, coalescing.applies(to: branch, with: journal) {
      let run = JoinedRun(self, on: input, as: branch, hasHandle: false, coalescing)
      if let coalesced = coalescing.run(for: run.inputKey), scope.runsInFlight.contains(where: { $0 === coalesced }) {
        throw ChainError.reentrant
      }
      return await run.awaited(launch(run))
    }
    let outer = branch == nil && journal == nil && !identity.isProgression ? scope.innermostRun : nil
    let outerJournal = outer?.stepJournal ?? outer?.journal
    let run = Execution(
      of: self,
      entrance: entrance,
      input: input,
      as: branch,
      with: journal,
      around: outerJournal
    )
    if journal != nil, let outer = Scope.currentJournal, !outer.isInStep {
      // Between the steps of a run with another journal, the steps are not theirs.
      return await outer.offExecutor(as: .run) { await run.awaited(self.launch(run)) }
    }
    guard let outerJournal, !outerJournal.isInStep else { return await run.awaited(launch(run)) }
    // Between the steps of a run with a journal, its steps are theirs.
    return try await outerJournal.inside(outerJournal.open("chain"), branch: nil) { await run.awaited(launch(run)) }
  }

  /// Admits a run and starts its task.
  ///
  /// Admission is decided before this method returns, so that it follows the order of the calls. A run that is already
  /// cancelled is not admitted, so that it displaces no other run.
  func launch(_ run: Execution, priority: TaskPriority? = nil) -> Task<Void, any Error> {
    // Before it is counted: what sees it in flight can cancel it.
    run.tie(to: registry, of: ObjectIdentifier(self))
    // The runs that join a coalesced one are counted instead of it.
    if coalescing == nil || !(run is CoalescedRun) { counter.begin() }
    RunsBegun.forEach { $0.begin() }
    if !run.hasRequest {
      if let coalescing, let run = run as? JoinedRun {
        join(run, coalescing, priority: priority)
      } else if run.entrance != nil {
        run.enterGate()
      }
    }
    let task = spawn(priority: priority) { () async throws -> Void in await self.runToEnd(run) }
    run.attach(task)
    return task
  }

  // Isolated to a parameter that is nil: a concurrent function would switch executors twice more, to bind the scope.
  @inline(never)
  private func runToEnd(_ run: Execution, on actor: isolated (any Actor)? = nil) async {
    if let coalescing, let run = run as? JoinedRun { return await wait(run, coalescing) }
    var frame = Frame(self, run, slot: run.takeValue(), recording: run.recording)
    if !run.isDirect, let outcome = await run.prepare(&frame.slot, error: &frame.pendingError) {
      run.recording?.endRun(outcome, through: run.cancellationSource) { frame.slot.erased }
      return complete(run, outcome, frame.slot)
    }
    let outcome = await frame.executeAll(on: actor)
    complete(run, outcome, frame.slot)
  }

  /// Completes a run, and then resumes the tasks that wait for it.
  // Kept out of the stack frame.
  @inline(never)
  func complete(_ run: Execution, _ outcome: Outcome<Void>, _ slot: consuming ValueSlot) {
    if run.entrance != nil { run.leaveGate() }
    let coalesced = coalescing.flatMap { _ in run as? CoalescedRun }
    if let coalesced { coalescing?.end(coalesced) }
    run.complete(outcome, slot)
    if coalesced == nil { counter.end() }
    RunsBegun.forEach { $0.end() }
    if run.hasHandle, let recorder = run.recording?.recorder {
      recorder.end(outcome.map { recorder.output(of: run, isShared: coalesced != nil) })
    }
    // Last: what awaits the run resumes while nothing is left to do here.
    run.completion.settle(())
  }
}
