// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacyGrain
internal import LegacySupport

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
        return .next { handler in task.pass { useNext in handler(useNext) } }
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
