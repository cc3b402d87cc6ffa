// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where stages run, up to 0.3, and what happens before each.
@available(*, deprecated, message: "Use `for try await stage in stages` of Progression of Stepwise")
public protocol ExecutionCustomizing {
  /// The stages.
  associatedtype Stage: StageProtocol

  /// Returns where a stage runs.
  var serviceForStage: (Stage) -> any ServiceProtocol { get }

  /// Where the completion is called.
  var completionService: any ServiceProtocol { get }

  /// Returns whether a stage must not run.
  var shouldStopStage: (Stage) -> Bool { get }

  /// Called before each stage, where it runs.
  var beforeStage: (Stage) -> Void { get }
}
