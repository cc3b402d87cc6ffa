// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where stages run, from 0.4 to 0.6, and what happens before each.
@available(*, deprecated, message: "Use `for try await stage in stages` of Progression of Stepwise")
public protocol Environment {
  /// Returns where a stage runs.
  func service<Stage: StageProtocol>(for stage: Stage) -> any ServiceProtocol

  /// Returns whether a stage must not run.
  func shouldStop<Stage: StageProtocol>(_ stage: Stage) -> Bool

  /// Called before each stage, where it runs.
  func before<Stage: StageProtocol>(_ stage: Stage)

  /// Returns another stage in place of a stage. No version called it.
  func adjust<Stage: StageProtocol>(_ stage: Stage) -> Stage
}

@available(*, deprecated)
extension Environment {
  /// Returns false.
  public func shouldStop<Stage: StageProtocol>(_ stage: Stage) -> Bool { false }

  /// Does nothing.
  public func before<Stage: StageProtocol>(_ stage: Stage) {}

  /// Returns the stage.
  public func adjust<Stage: StageProtocol>(_ stage: Stage) -> Stage { stage }
}

@available(*, deprecated)
extension Environment where Self: ServiceProtocol {
  /// Returns itself: a service is an environment for all stages.
  public func service<Stage: StageProtocol>(for stage: Stage) -> any ServiceProtocol { self }
}

@available(*, deprecated)
extension GCDService: Environment {}
