// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// Begins a run that lives by itself.
  ///
  /// The run keeps the priority, the task-locals and the executor preference of the caller, but is not cancelled with it.
  /// Letting the returned handle go cancels nothing. The stages show in the run's events, as `stageReached`.
  ///
  /// - Returns: The handle, to cancel the run, to wait for it, and to look at it.
  @discardableResult
  public nonisolated func start() -> Run<Result> { start(priority: nil) }

  /// Begins a run that lives by itself and calls back when it has ended.
  ///
  /// The completion runs off the caller's actor unless it says otherwise:
  /// `stage.execute { @MainActor useResult in … }`.
  ///
  /// - Parameters:
  ///   - priority: The priority of the stages and of the completion.
  ///   - completion: Called once, whatever happened, with a function that returns the result or throws what took its place;
  ///     for a cancelled run that is `CancellationError`.
  /// - Returns: The handle, to cancel the run, to wait for it, and to look at it.
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
    let core = ChainCore(name: nil, Chain<Void, Result>.code(running: { _ in self }))
    return Run(of: core, input: (), priority: priority)
  }
}
