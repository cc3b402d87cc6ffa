// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacyGrain
internal import LegacySupport

/// Work in stages, each of which has a task that produces the next one, until there is a completion.
///
/// Each version declared some of the members, and the others follow from them: 0.2 `nextTask`, and the last stage is
/// the result; 0.3 `nextTask` and `completion`; 0.4 to 0.6 `next()` and `result`.
@available(*, deprecated, message: "Use Progression of Stepwise, whose next() is async throws, and a result")
public protocol StageProtocol: CompletingProtocol, SendableMetatype {
  /// The type of `completion`, the stage itself unless declared.
  associatedtype Completion = Self

  /// The type of `result`, that of `completion` unless declared.
  associatedtype Result = Completion

  /// The work that gives the stage after this one; nil for the last.
  var nextTask: Deferred<Self>? { get }

  /// The completion, which the last stage has.
  var completion: Completion? { get }

  /// The work that gives the stage after this one.
  func next() -> Deferred<Self>

  /// The result, which the last stage has.
  var result: Result? { get }
}

@available(*, deprecated)
extension StageProtocol {
  /// The work of `next()`, unless there is a result.
  public var nextTask: Deferred<Self>? { result == nil ? next() : nil }

  /// Work that fails, unless the stage declares one of `next()` and `nextTask`.
  public func next() -> Deferred<Self> {
    let stage = self
    return .unit { throw StageError.stageInvalid(stage) }
  }

  /// Returns the completion.
  ///
  /// - Throws: ``StageError/expectedCompletion(_:)`` when there is none.
  public func requireCompletion() throws -> Completion {
    guard let completion else { throw StageError.expectedCompletion(self) }
    return completion
  }

  func requireResult() throws -> Result {
    guard let result else { throw StageError.expectedCompletion(self) }
    return result
  }
}

@available(*, deprecated)
extension StageProtocol where Completion == Self {
  /// The stage itself.
  public var completion: Completion? { self }
}

@available(*, deprecated)
extension StageProtocol where Result == Completion {
  /// The completion.
  public var result: Result? { completion }
}

/// A value that is expected to have a completion.
@available(*, deprecated, message: "Use the result of `try await run()`")
public protocol CompletingProtocol {
  /// The completion.
  associatedtype Completion

  /// Returns the completion.
  ///
  /// - Throws: An error when there is none.
  func requireCompletion() throws -> Completion
}

/// Why a stage cannot be continued or completed.
@available(*, deprecated, message: "Write `try completed()`, whose error names the stage")
// Safety: the run that met the stage does not use it any more, and stages of the first edition are values.
public enum StageError<Stage: StageProtocol>: Error, @unchecked Sendable {
  /// The stage has no next stage.
  case stageAlreadyCompleted(Stage)

  /// The stage has neither a next stage nor a completion.
  case stageInvalid(Stage)

  /// The last stage has no completion.
  case expectedCompletion(Stage)
}

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

@available(*, deprecated)
extension StageProtocol {
  /// Runs the stages from this one on, and calls a handler.
  ///
  /// - Parameters:
  ///   - customizer: Where the stages run, and where the completion is called.
  ///   - completion: Called with a closure that returns the completion or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, or its execute")
  @preconcurrency
  public func execute<Customizer: ExecutionCustomizing>(
    customizer: Customizer,
    completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) where Customizer.Stage == Self {
    let customizer = Sent(customizer)
    run(
      service: customizer.value.serviceForStage,
      before: { stage in
        if customizer.value.shouldStopStage(stage) { throw ExecutionError.stopped }
        customizer.value.beforeStage(stage)
      },
      completionService: customizer.value.completionService,
      completion: completion
    )
  }

  /// Runs the stages from this one on, and calls a handler.
  ///
  /// - Parameters:
  ///   - environment: Where the stages run.
  ///   - completionService: Where the completion is called; where the last stage runs unless given.
  ///   - completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, or its execute")
  @preconcurrency
  public func execute(
    environment: any Environment,
    completionService: (any ServiceProtocol)?,
    completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void
  ) {
    run(in: environment, completionService: completionService, completion: completion)
  }

  /// Runs the stages from this one on in the global utility queue, and calls a handler there, as from 0.4 to 0.6.
  ///
  /// - Parameter completion: Called with a closure that returns the result or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise, or its execute")
  @preconcurrency
  public func execute(_ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void) {
    run(in: GCDService.utility, completionService: nil, completion: completion)
  }

  func run(
    in environment: any Environment,
    completionService: (any ServiceProtocol)?,
    completion: @escaping (@escaping () throws -> Result) -> Void
  ) {
    run(
      service: { stage in environment.service(for: stage) },
      before: { stage in
        if environment.shouldStop(stage) { throw EnvironmentError.stopped }
        environment.before(stage)
      },
      completionService: completionService,
      completion: completion
    )
  }

  private func run(
    service: @escaping (Self) -> any ServiceProtocol,
    before: @escaping (Self) throws -> Void,
    completionService: (any ServiceProtocol)?,
    completion: @escaping (@escaping () throws -> Result) -> Void
  ) {
    let completion = Sent(completion)
    StageRunner<Self, Result>(
      performer: { stage in
        let service = service(stage)
        return Performer { work in service.async(work) }
      },
      visit: { stage in
        try before(stage)
        guard let task = stage.nextTask else { return .result { try stage.requireResult() } }
        return .next(task.second)
      },
      complete: { useResult in
        guard let completionService else { return completion.value(useResult) }
        let useResult = Sent(useResult)
        completionService.async { completion.value(useResult.value) }
      }
    )
    .start(self)
  }
}

@available(*, deprecated)
extension StageProtocol where Result == Completion {
  /// Runs the stages from this one on in the global user-initiated queue, and calls a handler in the main queue, as up
  /// to 0.3.
  ///
  /// - Parameter completion: Called with a closure that returns the completion or throws the error of a stage.
  @available(*, deprecated, message: "Use `try await run()` of Progression of Stepwise on the main actor")
  @preconcurrency
  public func execute(_ completion: sending @escaping (_ useResult: @escaping () throws -> Result) -> Void) {
    execute(customizer: GCDExecutionCustomizer(), completion: completion)
  }
}
