// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension ChainCore {
  /// Who a run with its own task belongs to.
  enum Owner {
    /// A handle: `start` started it, with a priority or with that of the calling task.
    case handle(TaskPriority?)
    /// The current task, which awaits it; it may be a step of another run.
    case task(ChildRun?)
  }

  /// Where a run with its own task is registered.
  private struct Entry: Sendable {
    let membership: OrderedSlots<RunState>.Key
    let tokens: [CancellationToken]
    let listeners: [CancellationToken.Key?]
  }

  /// Admits a run and starts its task, which every source of cancellation can cancel.
  ///
  /// Admission is decided before this method returns, so that it follows the order of the calls. A run that is already
  /// cancelled is not admitted, so that it displaces no other run.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - owner: Who it belongs to; a run of the current task inherits the scope of the task.
  ///   - recorder: Records the events of the run.
  /// - Returns: The task.
  func launch(_ run: RunState, of owner: Owner, recorder: RunRecorder? = nil) -> Task<Void, any Error> {
    // Read before the run counts as in flight: a later `cancelRuns` applies to it.
    let cancellation = cancellation
    counter.begin()
    let membership = registry.add(run)
    // A cancellation before the run was registered, or of the token, has not reached it.
    if let request = cancellation.request { run.cancel(reason: request.reason) }
    var scope = CancellationScope.current ?? CancellationScope()
    var priority: TaskPriority?
    var child: ChildRun?
    switch owner {
    case .handle(let chosen): (scope, priority) = (scope.ofStartedRuns, chosen)
    case .task(let relation): child = relation
    }
    let listeners = scope.tokens.map { $0.listen(run) }
    if case .task = owner, Task.isCancelled { run.cancel(reason: scope.cancellationCause?.reason) }
    if !run.isCancellationRequested { admit(run) }
    let context = RunContext(program, cancelledBy: cancellation, run: run, child: child, recorder: recorder)
    let entry = Entry(membership: membership, tokens: scope.tokens, listeners: listeners)
    let inner = scope.inside(run)
    let task = spawn(priority: priority) { () async throws -> Void in
      run.begin()
      await CancellationScope.$current.withValue(inner) { await self.perform(run, in: context) }
      self.finish(run, leaving: entry, recorder: recorder)
    }
    run.attach(task)
    return task
  }

  /// Runs the chain in its own task, which the caller's task awaits and cancels.
  ///
  /// - Returns: The run, which has ended.
  /// - Throws: ``ChainError/reentrant`` when the run would wait for the run that called this.
  nonisolated(nonsending) func runApart(
    _ input: consuming ValueSlot,
    as child: ChildRun? = nil
  ) async throws -> RunState {
    if isReentered { throw ChainError.reentrant }
    let scope = CancellationScope.current
    let around = scope?.runs.first { !$0.isOver }
    // Leaves out what has ended around that one, too.
    _ = around?.enclosing
    let run = RunState(of: program, entrance: entrance, input: input, inside: around)
    let task = launch(run, of: .task(child))
    do {
      try await run.whileAwaited {
        await withTaskCancellationHandler {
          _ = await task.result
        } onCancel: {
          run.cancel(reason: scope?.cancellationCause?.reason ?? child?.outer.request?.reason)
        }
      }
      return run
    } catch {
      // The run waits for the run that called this; cancelling it removes it from the queue.
      run.cancel(reason: "reentrant")
      throw error
    }
  }

  /// Runs the chain in its own task.
  ///
  /// - Throws: The error of the run.
  @usableFromInline
  nonisolated(nonsending) func runApart<Input: Sendable, Output: Sendable>(_ input: Input) async throws -> Output {
    try await runApart(ValueSlot(input)).takeOutput()
  }

  /// Runs the chain as a step of another run.
  ///
  /// - Returns: The output, and how to undo what was completed.
  /// - Throws: The error of the run; when it was cancelled with the other run, the error of the interrupted step.
  nonisolated(nonsending) func run<Input: Sendable, Output: Sendable>(
    _ input: Input,
    as child: ChildRun
  ) async throws -> (Output, [UndoStack.Entry]) {
    guard isPlain else { return try await runApart(input, as: child) }
    let context = RunContext(program, cancelledBy: cancellation, child: child)
    counter.begin()
    defer { counter.end() }
    var frame = Frame(context, slot: ValueSlot(input))
    try Self.check(await frame.execute(), in: child.outer)
    return (frame.slot.take(), frame.undos?.takeAll().reversed() ?? [])
  }

  @inline(never)
  private nonisolated(nonsending) func runApart<Input: Sendable, Output: Sendable>(
    _ input: Input,
    as child: ChildRun
  ) async throws -> (Output, [UndoStack.Entry]) {
    let run = try await runApart(ValueSlot(input), as: child)
    if let outcome = run.end?.outcome { try Self.check(outcome, in: child.outer) }
    return (try run.takeOutput(), run.takeUndos())
  }

  private static func check(_ outcome: Outcome<Void>, in outer: RunContext) throws {
    if case .cancelled(let cancellation) = outcome, let error = cancellation.underlyingError,
      outer.isCancellationRequested
    {
      throw error
    }
    try outcome.get()
  }

  /// Requests a slot at the gate, if there is one, and cancels the runs that it displaces.
  private func admit(_ run: RunState) {
    guard let entrance = run.entrance else { return }
    let reason = program.overlap.description
    switch entrance.gate.arrive(run, mode: entrance.mode, priority: entrance.priority) {
    case .admit(let place): run.slot = .held(place)
    case .refuse: run.cancel(reason: reason)
    case .wait(let place, let displaced):
      for run in displaced { run.cancel(reason: reason) }
      run.slot = .waiting(place)
    }
  }

  /// Waits for a slot at the gate, then runs.
  @inline(never)
  private func perform(_ run: RunState, in context: RunContext) async {
    // Progress in here is not the progress of a step of another run.
    guard !StepContext.isSet else { return await performOutsideStep(run, in: context) }
    // A job waits in its step, within its time limits.
    if entrance != nil { await run.waitForAdmission() }
    let isCancelled = run.isCancellationRequested
    var frame = Frame(context, slot: isCancelled ? ValueSlot() : run.takeValue())
    frame.end(run, with: await frame.execute(isCancelled: isCancelled))
  }

  @inline(never)
  private func performOutsideStep(_ run: RunState, in context: RunContext) async {
    await StepContext.$current.withValue(nil) { await self.perform(run, in: context) }
  }

  /// Ends the registrations of a run, and then tells those who wait for it.
  @inline(never)
  private func finish(_ run: RunState, leaving entry: Entry, recorder: RunRecorder?) {
    run.leaveGate()
    for (token, listener) in zip(entry.tokens, entry.listeners) { token.remove(listener) }
    registry.remove(entry.membership)
    run.complete()
    counter.end()
    run.completion.settle(())
    if let recorder, let outcome = run.end?.outcome { recorder.end(outcome.map { run }) }
  }

  /// Whether the current Task works inside a run of this chain that holds a slot of its gate.
  private var isReentered: Bool {
    guard entrance != nil, let scope = CancellationScope.current else { return false }
    return scope.runs.contains { $0.program == ObjectIdentifier(program) && $0.slot.isHeld && !$0.isOver }
  }
}
