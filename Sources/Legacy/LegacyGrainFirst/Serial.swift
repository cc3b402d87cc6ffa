// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Several stages run in a row, each to its end, as one, from 0.4 to 0.6.
@available(*, deprecated, message: "Use Serial of Stepwise")
public enum Serial<Stage: StageProtocol>: StageProtocol {
  /// The results, or errors, in order.
  public typealias Result = [() throws -> Stage.Result]

  /// None has run.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case start(stages: [Stage], environment: any Environment)

  /// One is next, others have completed or follow it.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case running(
    remainingStages: [Stage],
    activeStage: Stage,
    completedSoFar: [() throws -> Stage.Result],
    environment: any Environment
  )

  /// All have completed.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  case completed([() throws -> Stage.Result])

  /// The results, or errors, when all have completed.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  public var result: [() throws -> Stage.Result]? {
    if case .completed(let results) = self { results } else { nil }
  }

  /// The work of the active one.
  @available(*, deprecated, message: "Use Serial of Stepwise")
  public func next() -> Deferred<Serial> {
    switch self {
    case .start(let stages, let environment):
      .unit { Self.after([], remaining: stages[...], environment: environment) }
    case .running(let remaining, let active, let completed, let environment):
      active.taskExecuting(environment).flatMap { useResult in
        .unit { Self.after(completed + [useResult], remaining: remaining[...], environment: environment) }
      }
    case .completed:
      completedStage(self)
    }
  }

  private static func after(
    _ results: [() throws -> Stage.Result],
    remaining: ArraySlice<Stage>,
    environment: any Environment
  ) -> Serial {
    guard let active = remaining.first else { return .completed(results) }
    return .running(
      remainingStages: Array(remaining.dropFirst()),
      activeStage: active,
      completedSoFar: results,
      environment: environment
    )
  }
}

@available(*, deprecated)
extension Sequence where Element: StageProtocol {
  /// Runs all of the stages in a row, each to its end, and calls a handler with the results or errors.
  @available(*, deprecated, message: "Use `try await Serial(progressions).run()` of Stepwise")
  @preconcurrency
  public func executeSerially(
    _ environment: any Environment,
    completion: sending @escaping (@escaping () throws -> [() throws -> Element.Result]) -> Void
  ) {
    Serial.start(stages: Array(self), environment: environment)
      .run(in: environment, completionService: nil, completion: completion)
  }
}
