// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A run with its own task.
struct Launch: Sendable {
  let run: RunCore
  let undoLog: UndoLog?
  let task: Task<Conclusion, Never>
}

extension ChainCore {
  /// Admits a run and starts its task, which every source of cancellation can cancel.
  ///
  /// Admission is decided before this method returns, so that it follows the order of the calls. A run that is already
  /// cancelled is not admitted, so that it displaces no other run.
  ///
  /// - Parameters:
  ///   - isAwaited: Whether the current task awaits the run, which then inherits the scope of the task.
  ///   - child: The relation of the run to the run that contains it as a step.
  ///   - recorder: Records the events of the run.
  ///   - priority: The priority of the task; that of the calling task when nil.
  ///   - listener: Notified of a cancellation, and of the completion before it is delivered to waiters.
  ///   - load: Stores the input of the first step.
  ///   - end: Settled after everything else.
  /// - Returns: The run, and its task.
  func launch(
    isAwaited: Bool = false,
    as child: ChildRun? = nil,
    recorder: RunRecorder? = nil,
    priority: TaskPriority? = nil,
    listener: (any RunListener)? = nil,
    load: @escaping @Sendable (inout ValueSlot) -> Void,
    end: Once<Outcome<RunOutput>>? = nil
  ) -> Launch {
    // Read before the run counts as in flight: a later `cancelRuns` applies to it.
    let generation = currentGeneration
    counter.begin()
    let program = program
    let run = RunCore(chain: self, gate: program.gate, listener: listener)
    listener?.attach(run)
    let membership = registry.add(run)
    // A cancellation before the run was registered, or of the token, has not reached it.
    if let request = request(of: generation) { _ = run.cancel(reason: request.reason) }
    let around = CancellationScope.current ?? CancellationScope()
    let scope = isAwaited ? around : around.ofStartedRuns
    let listeners = scope.tokens.map { $0.listen { reason in _ = run.cancel(reason: reason) } }
    if isAwaited, Task.isCancelled { _ = run.cancel(reason: scope.cancellationCause?.reason) }
    let place = run.isCancellationRequested ? nil : admit(run, to: program)
    let innerScope = scope.inside(run)
    let context = RunContext(
      chain: self,
      program: program,
      run: run,
      child: child,
      recorder: recorder,
      generation: generation
    )
    listener?.begin()
    let task = spawn(priority: priority) { () async -> Conclusion in
      let conclusion = await CancellationScope.$current.withValue(innerScope.inThisTask()) {
        // Progress in here is not the progress of a step of another run.
        guard StepContext.current != nil else { return await self.perform(program, at: place, in: context, load: load) }
        return await StepContext.$current.withValue(nil) {
          await self.perform(program, at: place, in: context, load: load)
        }
      }
      if let place { program.gate?.leave(place.id) }
      for (token, listener) in zip(scope.tokens, listeners) { token.remove(listener) }
      self.registry.remove(membership)
      run.end(failedStep: conclusion.failedStep)
      self.counter.end()
      end?.settle(conclusion.outcome)
      recorder?.end(conclusion.outcome)
      return conclusion
    }
    run.attach(task)
    return Launch(run: run, undoLog: context.undoLog, task: task)
  }

  /// Runs the chain in its own task, which the caller's task awaits and cancels.
  nonisolated(nonsending) func runApart(
    as child: ChildRun? = nil,
    load: @escaping @Sendable (inout ValueSlot) -> Void
  ) async throws -> Conclusion {
    if isReentered { throw ChainError.reentrant }
    let launched = launch(isAwaited: true, as: child, load: load)
    let scope = CancellationScope.current
    do {
      return try await launched.run.whileAwaited {
        await withTaskCancellationHandler {
          await launched.task.value
        } onCancel: {
          _ = launched.run.cancel(reason: scope?.cancellationCause?.reason ?? child?.outer.request?.reason)
        }
      }
    } catch {
      // The run waits for the run that called this; cancelling it removes it from the queue.
      _ = launched.run.cancel(reason: "reentrant")
      throw error
    }
  }

  @usableFromInline
  nonisolated(nonsending) func runApart(load: @escaping @Sendable (inout ValueSlot) -> Void) async throws -> RunOutput {
    try await runApart(as: nil, load: load).outcome.get()
  }

  /// Runs the chain as a step of another run.
  ///
  /// - Returns: The output, and how to undo what was completed.
  /// - Throws: The error of the run; when it was cancelled with the other run, the error of the interrupted step.
  nonisolated(nonsending) func run<Input: Sendable, Output: Sendable>(
    _ input: Input,
    as child: ChildRun
  ) async throws -> (Output, [UndoStack.Entry]) {
    let program = program
    guard isPlain(program) else {
      let conclusion = try await runApart(as: child) { $0.put(input) }
      return (try Self.value(of: conclusion.outcome, in: child.outer).value(), conclusion.undos)
    }
    let context = RunContext(chain: self, program: program, child: child)
    counter.begin()
    defer { counter.end() }
    var frame = Frame(program, context)
    frame.slot.put(input)
    try Self.value(of: await execute(&frame), in: child.outer)
    return (frame.slot.take(), frame.undos?.takeAll().reversed() ?? [])
  }

  @discardableResult
  private static func value<Value>(of outcome: Outcome<Value>, in outer: RunContext) throws -> Value {
    if case .cancelled(let cancellation) = outcome, let error = cancellation.underlyingError,
      outer.isCancellationRequested
    {
      throw error
    }
    return try outcome.get()
  }

  /// Requests a slot at the gate and cancels the runs that it displaces; returns nil without a gate, or without a slot.
  private func admit(_ run: RunCore, to program: Program) -> GateMachine<RunCore>.Arrival? {
    guard let gate = program.gate, let mode = program.overlap.mode else { return nil }
    let arrival = gate.arrive(run, mode: mode)
    let reason = program.overlap.description
    for displaced in arrival.displaced { _ = displaced.cancel(reason: reason) }
    guard arrival.verdict != .refused else {
      _ = run.cancel(reason: reason)
      return nil
    }
    run.slot = arrival.verdict == .admitted ? .held : .waiting
    return arrival
  }

  /// Waits for a slot at the gate, then runs.
  ///
  /// A run that is cancelled while it waits leaves the queue before its handlers run.
  private func perform(
    _ program: Program,
    at place: GateMachine<RunCore>.Arrival?,
    in context: RunContext,
    load: @Sendable (inout ValueSlot) -> Void
  ) async -> Conclusion {
    var frame = Frame(program, context)
    if let place, place.verdict == .waiting {
      let isAdmitted = await context.run?.admission?.value() != nil
      context.run?.slot = isAdmitted ? .held : .none
      if !isAdmitted { program.gate?.leave(place.id) }
    }
    if context.run?.isCancellationRequested ?? false {
      let outcome = await conclude(&frame, with: CancellationError())
      return Conclusion(outcome: outcome.map { RunOutput(ValueSlot()) }, undos: [], failedStep: nil)
    }
    load(&frame.slot)
    let outcome = await execute(&frame)
    // A run that is not a step of another one needs its undos no longer.
    let undos: [UndoStack.Entry] = context.outer == nil ? [] : frame.undos?.takeAll().reversed() ?? []
    let failedStep = context.outer == nil ? frame.failedStep : nil
    let output = RunOutput(frame.slot)
    return Conclusion(outcome: outcome.map { output }, undos: undos, failedStep: failedStep)
  }

  /// Whether the current Task works inside a run of this chain that holds a slot of its gate.
  private var isReentered: Bool {
    guard program.gate != nil, let scope = CancellationScope.current else { return false }
    return scope.enclosing.contains { enclosing in
      guard let run = enclosing as? RunCore, run.chainID == ObjectIdentifier(self) else { return false }
      return run.slot == .held && !run.isOver
    }
  }
}
