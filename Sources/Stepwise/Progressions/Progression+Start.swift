// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// Starts an unstructured run.
  ///
  /// The run inherits the priority, the task-local values and the executor preference of the caller, but not its
  /// cancellation. Releasing the returned handle does not cancel the run. The run's events report the stages as
  /// `stageReached`.
  ///
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func start() -> Run<Result> { start(priority: nil) }

  /// Starts an unstructured run and calls a closure when the run completes.
  ///
  /// The completion runs off the caller's actor, unless the closure is isolated: `stage.execute { @MainActor useResult
  /// in … }`.
  ///
  /// - Parameters:
  ///   - priority: The priority of the stages and of the completion.
  ///   - completion: Called exactly once with a function that returns the result or throws the error of the run. For a
  ///     cancelled run that is `CancellationError`.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func execute(
    priority: TaskPriority = .utility,
    _ completion:
      nonisolated(nonsending) @escaping @Sendable (
        _ useResult: @escaping @Sendable () throws -> Result
      ) async -> Void
  ) -> Run<Result> {
    let run = start(priority: priority)
    _ = spawn(priority: priority) {
      let outcome = await run.finalOutcome
      await completion { try outcome.get() }
    }
    return run
  }

  private nonisolated func start(priority: TaskPriority?) -> Run<Result> {
    let core = ChainCore(Path(name: nil, Chain<Void, Result>.code(running: { _ in self })))
    return Run(of: core, input: (), priority: priority)
  }
}
