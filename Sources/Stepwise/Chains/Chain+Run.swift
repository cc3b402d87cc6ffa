// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Runs the chain and waits for its end.
  ///
  /// The run belongs to the Task that awaits it: it is cancelled with it, and keeps its priority and task-locals. The steps
  /// run off the caller's actor.
  ///
  /// - Parameter input: The first step's input.
  /// - Returns: The last step's output, also when the run was cancelled too late to prevent it.
  /// - Throws: A step's own error as it is; `CancellationError` when the run was cancelled, by whomever, or was refused or
  ///   replaced by its overlap policy; ``ChainError/reentrant`` when a chain that lets in one run at a time is run from
  ///   inside its own step.
  nonisolated(nonsending) public func run(_ input: Input) async throws -> Output {
    let conclusion: Conclusion<Output>
    if core.isPlain {
      conclusion = await core.executeInPlace(input)
    } else {
      conclusion = try await core.executeApart(input)
    }
    return try conclusion.outcome.get()
  }

  /// Begins a run that lives by itself.
  ///
  /// The run keeps the priority, the task-locals and the executor preference of the caller, but is not cancelled with it.
  /// Letting the returned handle go cancels nothing.
  ///
  /// - Parameter input: The first step's input.
  /// - Returns: The handle, to cancel the run, to wait for it, and to look at it.
  @discardableResult
  public nonisolated func start(_ input: Input) -> Run<Output> {
    Run(of: core, input: input)
  }

  /// Begins a run that lives by itself and calls back when it has ended.
  ///
  /// This is the door from chains to code that works with callbacks.
  ///
  /// - Parameters:
  ///   - input: The first step's input.
  ///   - completion: Called once, whatever happened, after the `finally` handlers; a cancelled run gives
  ///     `CancellationError`. It is not itself cancelled with the run.
  /// - Returns: The handle, to cancel the run, to wait for it, and to look at it.
  @discardableResult
  public nonisolated func start(
    _ input: Input,
    completion: nonisolated(nonsending) @escaping @Sendable (Result<Output, any Error>) async -> Void
  ) -> Run<Output> {
    let run: Run<Output> = Run(of: core, input: input)
    _ = spawn {
      let outcome = await run.finalOutcome
      await completion(Result { try outcome.get() })
    }
    return run
  }
}

extension Chain where Input == Void {
  /// Creates a chain of one step without input.
  @inlinable
  public init(_ body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output) {
    self.init { (_: Void) in try await body() }
  }

  /// Creates a chain of one step without input, with a name.
  @inlinable
  public init(_ name: String, _ body: nonisolated(nonsending) @escaping @Sendable () async throws -> Output) {
    self.init(name) { (_: Void) in try await body() }
  }

  /// Runs the chain and waits for its end, as `run(_:)` does.
  ///
  /// - Returns: The last step's output.
  /// - Throws: What `run(_:)` throws.
  nonisolated(nonsending) public func run() async throws -> Output { try await run(()) }

  /// Begins a run that lives by itself, as `start(_:)` does.
  ///
  /// - Returns: The handle, to cancel the run, to wait for it, and to look at it.
  @discardableResult
  public nonisolated func start() -> Run<Output> { start(()) }

  /// Begins a run that lives by itself and calls back when it has ended, as `start(_:completion:)` does.
  ///
  /// - Parameter completion: Called once, whatever happened, after the `finally` handlers.
  /// - Returns: The handle, to cancel the run, to wait for it, and to look at it.
  @discardableResult
  public nonisolated func start(
    completion: nonisolated(nonsending) @escaping @Sendable (Result<Output, any Error>) async -> Void
  ) -> Run<Output> {
    start((), completion: completion)
  }
}

extension ChainCore {
  /// A run in the caller's Task. It leaves the caller's actor here, once for all steps.
  @concurrent
  func executeInPlace<Input: Sendable, Output: Sendable>(
    _ input: Input,
    outer: RunContext? = nil,
    firstStep: Int = 0
  ) async -> Conclusion<Output> {
    flight.begin()
    defer { flight.end() }
    let context = RunContext(chain: self, outer: outer, recorder: outer?.recorder, firstStep: firstStep)
    return await execute(input, in: context)
  }

  /// A run in a Task of its own, which the caller's Task waits for and cancels.
  nonisolated(nonsending) func executeApart<Input: Sendable, Output: Sendable>(
    _ input: Input,
    outer: RunContext? = nil,
    firstStep: Int = 0
  ) async throws -> Conclusion<Output> {
    if isReentered { throw ChainError.reentrant }
    let launched: Launch<Output> = launch(
      input,
      isCancelled: Task.isCancelled,
      outer: outer,
      firstStep: firstStep,
      recorder: outer?.recorder
    )
    let scope = CancellationScope.current
    return await withTaskCancellationHandler {
      await launched.task.value
    } onCancel: {
      _ = launched.run.cancel(reason: scope?.knownCause?.reason ?? outer?.request?.reason)
    }
  }

  /// A run as a step of another.
  ///
  /// - Returns: the output, and how to undo what was completed.
  /// - Throws: what the run throws; when it was cancelled with the other, what it was interrupted with.
  nonisolated(nonsending) func execute<Input: Sendable, Output: Sendable>(
    _ input: Input,
    asStepOf outer: RunContext,
    at firstStep: Int
  ) async throws -> (Output, [UndoStack.Entry]) {
    let conclusion: Conclusion<Output>
    if isPlain {
      conclusion = await executeInPlace(input, outer: outer, firstStep: firstStep)
    } else {
      conclusion = try await executeApart(input, outer: outer, firstStep: firstStep)
    }
    if case .cancelled(let cancellation) = conclusion.outcome, let error = cancellation.underlyingError, outer.isAsked {
      throw error
    }
    return (try conclusion.outcome.get(), conclusion.undos)
  }
}
