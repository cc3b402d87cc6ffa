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
  /// - Parameters:
  ///   - isCancelled: Whether the Task that will wait for the run is cancelled already.
  ///   - outer: The run that this one is a step of.
  ///   - firstStep: The index that events give to the first step.
  ///   - recorder: Who keeps what happens.
  ///   - priority: The priority of the Task; that of the calling Task when nil.
  ///   - listener: Who is told of a cancel, and of the end before anybody who waits for it.
  ///   - load: Puts the input of the first step in.
  ///   - end: Settled when all is done, the last thing of all.
  /// - Returns: The run, and its Task.
  func launch(
    isCancelled: Bool = false,
    outer: RunContext? = nil,
    firstStep: Int = 0,
    recorder: RunRecorder? = nil,
    priority: TaskPriority? = nil,
    listener: (any RunListener)? = nil,
    load: @escaping @Sendable (inout Baton) -> Void,
    end: Once<Outcome<Parcel>>? = nil
  ) -> Launch {
    // Looked at before the run is seen in flight: a `cancelRuns` that comes later is meant for it.
    let epoch = epoch
    flight.begin()
    let program = program
    let run = RunCore(chain: self, isGated: program.gate != nil, listener: listener)
    listener?.attach(run)
    let place = admit(run, to: program)
    let membership = family.add(run)
    // One that came before the run could be found, or a cancel of the token, has not found it.
    if let request = request(since: epoch) { _ = run.cancel(reason: request.reason) }
    let scope = CancellationScope.current ?? CancellationScope()
    let registrations = scope.tokens.map { token in token.onCancel { reason in _ = run.cancel(reason: reason) } }
    if isCancelled { _ = run.cancel(reason: scope.knownCause?.reason) }
    let innerScope = scope.inside(run)
    let context = RunContext(
      chain: self,
      program: program,
      run: run,
      outer: outer,
      recorder: recorder,
      firstStep: firstStep,
      epoch: epoch
    )
    listener?.begin()
    let task = spawn(priority: priority) { () async -> Conclusion in
      let conclusion = await CancellationScope.$current.withValue(innerScope.inThisTask()) {
        await self.perform(program, at: place, in: context, load: load)
      }
      if let place { program.gate?.leave(place.id) }
      for registration in registrations { registration.remove() }
      self.family.remove(membership)
      run.end()
      self.flight.end()
      end?.settle(conclusion.outcome)
      recorder?.end(withValue: conclusion.hasValue) { conclusion.outcome.map(\.erased) }
      return conclusion
    }
    run.attach(task)
    return Launch(run: run, undoLog: context.undoLog, task: task)
  }

  /// A run in a Task of its own, which the caller's Task waits for and cancels.
  nonisolated(nonsending) func runApart(
    outer: RunContext? = nil,
    firstStep: Int = 0,
    load: @escaping @Sendable (inout Baton) -> Void
  ) async throws -> Conclusion {
    if isReentered { throw ChainError.reentrant }
    let launched = launch(
      isCancelled: Task.isCancelled,
      outer: outer,
      firstStep: firstStep,
      recorder: outer?.recorder,
      load: load
    )
    let scope = CancellationScope.current
    return await withTaskCancellationHandler {
      await launched.task.value
    } onCancel: {
      _ = launched.run.cancel(reason: scope?.knownCause?.reason ?? outer?.request?.reason)
    }
  }

  @usableFromInline
  nonisolated(nonsending) func runApart(load: @escaping @Sendable (inout Baton) -> Void) async throws -> Parcel {
    guard StepContext.current != nil else { return try await runApart(outer: nil, load: load).outcome.get() }
    // Called in a step of another run: what happens here is not that step's progress.
    return try await StepContext.$current.withValue(nil) { try await runApart(outer: nil, load: load).outcome.get() }
  }

  /// A run as a step of another.
  ///
  /// - Returns: the output, and how to undo what was completed.
  /// - Throws: what the run throws; when it was cancelled with the other, what it was interrupted with.
  nonisolated(nonsending) func run<Input: Sendable, Output: Sendable>(
    _ input: Input,
    asStepOf outer: RunContext,
    at firstStep: Int
  ) async throws -> (Output, [UndoStack.Entry]) {
    let program = program
    guard isPlain(program) else {
      let conclusion = try await runApart(outer: outer, firstStep: firstStep) { $0.put(input) }
      return (try Self.value(of: conclusion.outcome, in: outer).value(), conclusion.undos)
    }
    let context = RunContext(
      chain: self,
      program: program,
      outer: outer,
      recorder: outer.recorder,
      firstStep: firstStep
    )
    flight.begin()
    defer { flight.end() }
    var frame = Frame(program, context)
    frame.baton.put(input)
    try Self.value(of: await execute(&frame), in: outer)
    return (frame.baton.take(), frame.undos?.takeAll().reversed() ?? [])
  }

  @discardableResult
  private static func value<Value>(of outcome: Outcome<Value>, in outer: RunContext) throws -> Value {
    if case .cancelled(let cancellation) = outcome, let error = cancellation.underlyingError, outer.isAsked {
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
    return arrival
  }

  /// Waits for the gate, then runs.
  ///
  /// A run that was cancelled while it waited leaves the queue before its handlers run.
  private func perform(
    _ program: Program,
    at place: GateMachine<RunCore>.Arrival?,
    in context: RunContext,
    load: @Sendable (inout Baton) -> Void
  ) async -> Conclusion {
    var frame = Frame(program, context)
    if let place, place.verdict == .waiting, await context.run?.admission?.value() == nil {
      program.gate?.leave(place.id)
      let outcome = await conclude(&frame, with: CancellationError())
      return Conclusion(outcome: outcome.map { Parcel(Baton()) }, undos: [])
    }
    load(&frame.baton)
    let outcome = await execute(&frame)
    // Of a run that is no step of another they go with the run.
    let undos: [UndoStack.Entry] = context.outer == nil ? [] : frame.undos?.takeAll().reversed() ?? []
    let parcel = Parcel(frame.baton)
    return Conclusion(outcome: outcome.map { parcel }, undos: undos)
  }

  /// Whether the current Task works inside a run of this chain that holds a place at its gate.
  private var isReentered: Bool {
    guard program.gate != nil, let scope = CancellationScope.current else { return false }
    return scope.enclosing.contains { ($0 as? RunCore)?.chainID == ObjectIdentifier(self) && !$0.isOver }
  }
}
