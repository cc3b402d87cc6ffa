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
  @inlinable
  nonisolated(nonsending) public func run(_ input: Input) async throws -> Output {
    guard var frame = core.makeFrame() else { return try await core.runApart { $0.put(input) }.value() }
    frame.slot.put(input)
    try await core.runInPlace(&frame)
    return frame.slot.take()
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
  /// This is the door from chains to code that works with callbacks. The completion runs off the caller's actor unless it
  /// says otherwise: `chain.start(input) { @MainActor result in show(result) }`.
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
  @inlinable
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
