// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A run that has been given a Task of its own.
struct Launch: Sendable {
  let run: RunCore
  let undoLog: UndoLog?
  let task: Task<Conclusion, Never>
}

extension ChainCore {
  /// Admits a run and gives it a Task, which everybody who may cancel the run can cancel.
  ///
  /// Admission is decided before this returns, so that it follows the order of the calls.
  ///
  /// A run that is cancelled by then is not admitted, so that it displaces no other.
  ///
  /// - Parameters:
  ///   - isAwaited: Whether the current Task waits for the run, which then works inside what the Task works in.
  ///   - child: What the run is to the one that it is a step of.
  ///   - recorder: Who keeps what happens.
  ///   - priority: The priority of the Task; that of the calling Task when nil.
  ///   - listener: Who is told of a cancel, and of the end before anybody who waits for it.
  ///   - load: Puts the input of the first step in.
  ///   - end: Settled when all is done, the last thing of all.
  /// - Returns: The run, and its Task.
  func launch(
    isAwaited: Bool = false,
    as child: ChildRun? = nil,
    recorder: RunRecorder? = nil,
    priority: TaskPriority? = nil,
    listener: (any RunListener)? = nil,
    load: @escaping @Sendable (inout ValueSlot) -> Void,
    end: Once<Outcome<RunOutput>>? = nil
  ) -> Launch {
    // Looked at before the run is seen in flight: a `cancelRuns` that comes later is meant for it.
    let generation = currentGeneration
    counter.begin()
    let program = program
    let run = RunCore(chain: self, gate: program.gate, listener: listener)
    listener?.attach(run)
    let membership = registry.add(run)
    // One that came before the run could be found, or a cancel of the token, has not found it.
    if let request = request(of: generation) { _ = run.cancel(reason: request.reason) }
    let around = CancellationScope.current ?? CancellationScope()
    let scope = isAwaited ? around : around.ofStartedRuns
    let registrations = scope.tokens.map { token in token.onCancel { reason in _ = run.cancel(reason: reason) } }
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
        // What happens here is not the progress of a step of another run.
        guard StepContext.current != nil else { return await self.perform(program, at: place, in: context, load: load) }
        return await StepContext.$current.withValue(nil) {
          await self.perform(program, at: place, in: context, load: load)
        }
      }
      if let place { program.gate?.leave(place.id) }
      for registration in registrations { registration.remove() }
      self.registry.remove(membership)
      run.end()
      self.counter.end()
      end?.settle(conclusion.outcome)
      recorder?.end(withValue: conclusion.hasValue) { conclusion.outcome.map(\.erased) }
      return conclusion
    }
    run.attach(task)
    return Launch(run: run, undoLog: context.undoLog, task: task)
  }

  /// A run in a Task of its own, which the caller's Task waits for and cancels.
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
      // It waits for the run that this was called in, and leaves the queue.
      _ = launched.run.cancel(reason: "reentrant")
      throw error
    }
  }

  @usableFromInline
  nonisolated(nonsending) func runApart(load: @escaping @Sendable (inout ValueSlot) -> Void) async throws -> RunOutput {
    try await runApart(as: nil, load: load).outcome.get()
  }

  /// A run as a step of another.
  ///
  /// - Returns: the output, and how to undo what was completed.
  /// - Throws: what the run throws; when it was cancelled with the other, what it was interrupted with.
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

  /// Takes a place at the gate, and cancels those who lose theirs; nil where there is no gate, or no place.
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

  /// Waits for the gate, then runs.
  ///
  /// A run that was cancelled while it waited leaves the queue before its handlers run.
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
      return Conclusion(outcome: outcome.map { RunOutput(ValueSlot()) }, undos: [])
    }
    load(&frame.slot)
    let outcome = await execute(&frame)
    // Of a run that is no step of another they go with the run.
    let undos: [UndoStack.Entry] = context.outer == nil ? [] : frame.undos?.takeAll().reversed() ?? []
    let output = RunOutput(frame.slot)
    return Conclusion(outcome: outcome.map { output }, undos: undos)
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
