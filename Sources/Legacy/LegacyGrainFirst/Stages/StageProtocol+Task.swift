// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

@available(*, deprecated)
extension StageProtocol {
  /// Returns the work of this stage as a part of another progression's stage: its next stage, transformed.
  @available(*, deprecated, message: "Use compose of Progression of Stepwise")
  public func mapNext<Other: StageProtocol>(_ transform: @escaping (Self) throws -> Other) -> Deferred<Other> {
    guard let nextTask else { return Deferred(StageError.stageAlreadyCompleted(self)) }
    return nextTask.map(transform)
  }

  /// Returns the work of this stage as a part of another progression's stage: its next stage or result, transformed.
  @available(*, deprecated, message: "Use compose of Progression of Stepwise")
  public func compose<Other>(
    transformNext: @escaping (Self) throws -> Other,
    transformResult: @escaping (Result) throws -> Other
  ) -> Deferred<Other> {
    guard let result else { return next().map(transformNext) }
    return .unit { try transformResult(result) }
  }

  /// Returns the work of this stage as a part of another progression's stage: its next stage or result, transformed.
  @available(*, deprecated, message: "Use compose of Progression of Stepwise")
  public func compose<Other>(
    transformNext: @escaping (Self) throws -> Other,
    transformResult: (Result) -> Deferred<Other>
  ) -> Deferred<Other> {
    guard let result else { return next().map(transformNext) }
    return transformResult(result)
  }

  /// All stages from this one on, and the completion.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise")
  public func taskExecuting<Customizer: ExecutionCustomizing>(customizer: Customizer) -> Deferred<Result>
  where Customizer.Stage == Self {
    let this = Sent((stage: self, customizer: customizer))
    return .future { resolve in
      this.value.stage.execute(customizer: this.value.customizer) { useResult in resolve(useResult) }
    }
  }

  /// All stages from this one on in an environment, and the result.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise")
  public func taskExecuting(_ environment: any Environment) -> Deferred<Result> {
    let this = Sent((stage: self, environment: environment))
    return .future { resolve in
      this.value.stage.run(in: this.value.environment, completionService: nil) { useResult in resolve(useResult) }
    }
  }

  /// All stages from this one on in the global utility queue, and the result, as from 0.4 to 0.6.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise")
  public func taskExecuting() -> Deferred<Result> { taskExecuting(GCDService.utility) }
}

@available(*, deprecated)
extension StageProtocol where Result == Completion {
  /// All stages from this one on in the global user-initiated queue, and the completion in the main queue, as in 0.3.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise on the main actor")
  public func taskExecuting() -> Deferred<Result>? { taskExecuting(customizer: GCDExecutionCustomizer()) }

  /// All stages from this one on in the global user-initiated queue, and the last one in the main queue, as in 0.2.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise on the main actor")
  public func createTask() -> Deferred<Result>? { taskExecuting(customizer: GCDExecutionCustomizer()) }
}

/// All stages from the one on the left on in the environment on the right, and the result.
@available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise")
public func * <Stage: StageProtocol>(stage: Stage, environment: any Environment) -> Deferred<Stage.Result> {
  stage.taskExecuting(environment)
}

/// Ends `next()` of the last stage, which no run calls, and stops the program.
@available(*, deprecated, message: "Write `try completed()`, which throws in place of stopping the program")
public func completedStage<Stage: StageProtocol>(_ stage: Stage) -> Never {
  fatalError("\(stage) is the last stage")  // Safety: old code ends a switch with it, so that it cannot return.
}
