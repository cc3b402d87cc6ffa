// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacyGrain
internal import LegacySupport

/// Runs stages in the order in which they are added, with a concurrency limit, as in 0.5 and 0.6.
@available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise, which yields the results")
public final class ProductionLine<Stage: StageProtocol>: Sendable {
  private let line: LegacyGrain.ProductionLine<Execution<Stage>>
  private let environment: Sent<any Environment>

  /// Creates a line without stages.
  ///
  /// - Parameters:
  ///   - maxCount: The concurrency limit.
  ///   - environment: Where the stages run.
  @available(*, deprecated, message: "Use ProductionLine(maxConcurrent:) of Stepwise")
  public init(maxCount: Int, environment: sending any Environment) {
    line = LegacyGrain.ProductionLine(maxCount: maxCount) { work in work() }
    self.environment = Sent(environment)
  }

  /// Adds a stage, which starts when fewer than the limit run.
  @available(*, deprecated, message: "Use add(_:) of ProductionLine of Stepwise")
  public func add(_ stage: Stage) { line.add(.start(stage, environment.value)) }

  /// Adds stages, in order.
  @available(*, deprecated, message: "Use add(_:) of ProductionLine of Stepwise for each")
  public func add(_ stages: [Stage]) { line.add(stages.map { .start($0, environment.value) }) }

  /// Removes the stages that have not started.
  @available(*, deprecated, message: "Use clearPending() of ProductionLine of Stepwise, which returns them")
  public func clearPending() { line.clearPending() }

  /// Starts no further stage until `resume()`; those that run continue.
  @available(*, deprecated, message: "Use suspend() of ProductionLine of Stepwise")
  public func suspend() { line.suspend() }

  /// Starts stages again after `suspend()`.
  @available(*, deprecated, message: "Use resume() of ProductionLine of Stepwise")
  public func resume() { line.resume() }
}

/// The run of a stage to its end, as one stage of the second edition.
@available(*, deprecated)
private enum Execution<Stage: StageProtocol>: LegacyGrain.Progression {
  case start(Stage, any Environment)
  case completed

  func next() -> LegacyGrain.Deferred<Execution> {
    guard case .start(let stage, let environment) = self else { return LegacyGrain.Deferred { .completed } }
    return stage.taskExecuting(environment).second.map { _ in .completed }
  }

  var result: Bool? { if case .completed = self { true } else { nil } }
}
