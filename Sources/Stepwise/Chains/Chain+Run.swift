// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Runs the chain and waits for its completion.
  ///
  /// The run belongs to the task that awaits it: it is cancelled with that task, and inherits its priority and
  /// task-local values. The steps run off the caller's actor.
  ///
  /// - Parameter input: The first step's input.
  /// - Returns: The last step's output, even when the run was cancelled while that step was running.
  /// - Throws: The error of a step, unchanged; `CancellationError` when the run was cancelled in any way, or was
  ///   refused or replaced by its overlap policy; ``ChainError/reentrant`` when a step runs its own chain, whose policy
  ///   admits one run at a time.
  @inlinable
  nonisolated(nonsending) public func run(_ input: Input) async throws -> Output {
    guard var frame = core.makeFrame() else { return try await core.runApart(input) }
    frame.slot.put(input)
    try await core.runInPlace(&frame)
    return frame.slot.take()
  }

  /// Starts an unstructured run.
  ///
  /// The run inherits the priority, the task-local values and the executor preference of the caller, but not its
  /// cancellation. Releasing the returned handle does not cancel the run.
  ///
  /// - Parameters:
  ///   - input: The first step's input.
  ///   - token: Cancels this run and what its steps run, as in the body of ``withCancellation(by:isolation:_:)``. When it
  ///     is already cancelled, the run only calls its `finally` handlers.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult @inlinable
  public nonisolated func start(_ input: Input, cancelledBy token: CancellationToken? = nil) -> Run<Output> {
    var slot = ValueSlot()
    slot.put(input)
    return Run(core.start(slot, cancelledBy: token))
  }

  /// Starts an unstructured run and calls a closure when the run completes.
  ///
  /// Use this method to call a chain from code that works with callbacks. The completion runs off the caller's actor,
  /// unless the closure is isolated: `chain.start(input) { @MainActor result in show(result) }`.
  ///
  /// - Parameters:
  ///   - input: The first step's input.
  ///   - completion: Called exactly once, after the `finally` handlers, regardless of the outcome; a cancelled run
  ///     passes `CancellationError`. The run's cancellation does not cancel the completion.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func start(
    _ input: Input,
    completion: nonisolated(nonsending) @escaping @Sendable (Result<Output, any Error>) async -> Void
  ) -> Run<Output> {
    let run = start(input)
    _ = spawn {
      let outcome = await run.finalOutcome
      await completion(Result { try outcome.get() })
    }
    return run
  }
}

extension Chain {
  /// Runs the chain in its own task, which belongs to the caller's task, and returns its outcome.
  ///
  /// - Throws: ``ChainError/reentrant`` when the run would wait for the run that called this.
  package nonisolated(nonsending) func outcome(of input: Input) async throws -> Outcome<Output> {
    let run = try await core.runApart(ValueSlot(input))
    defer { run.forget() }
    return run.outcome()
  }
}

extension Chain {
  /// The name of the chain, or of its first step.
  package nonisolated var storedName: String {
    path.identity?.name ?? ChainStep(index: 0, name: core.program.name(at: 0)).description
  }

  /// Runs the chain with a journal, in its own task, which belongs to the caller's task.
  package nonisolated(nonsending) func run(with journal: any RunJournal) async throws -> Output {
    try await core.runApart(ValueSlot(), with: journal).takeOutput()
  }

  /// Starts an unstructured run with a journal.
  package nonisolated func start(with journal: any RunJournal, cancelledBy token: CancellationToken?) -> Run<Output> {
    Scope.adding(token) { Run(of: core, with: journal) }
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

  /// Runs the chain and waits for its completion, like `run(_:)`.
  ///
  /// - Returns: The last step's output.
  /// - Throws: What `run(_:)` throws.
  @inlinable
  nonisolated(nonsending) public func run() async throws -> Output { try await run(()) }

  /// Starts an unstructured run, like `start(_:cancelledBy:)`.
  ///
  /// - Parameter token: Cancels the run.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func start(cancelledBy token: CancellationToken? = nil) -> Run<Output> {
    start((), cancelledBy: token)
  }

  /// Starts an unstructured run and calls a closure when the run completes, like `start(_:completion:)`.
  ///
  /// - Parameter completion: Called exactly once, after the `finally` handlers.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func start(
    completion: nonisolated(nonsending) @escaping @Sendable (Result<Output, any Error>) async -> Void
  ) -> Run<Output> {
    start((), completion: completion)
  }
}
