// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Queues for stages, up to 0.3: user-initiated for the stages and the main queue for the completion unless set.
@available(*, deprecated, message: "Use `for try await stage in stages` of Progression of Stepwise")
public struct GCDExecutionCustomizer<Stage: StageProtocol>: ExecutionCustomizing {
  /// Returns where a stage runs.
  public var serviceForStage: (Stage) -> any ServiceProtocol = { _ in GCDService.userInitiated }

  /// Where the completion is called.
  public var completionService: any ServiceProtocol = GCDService.mainQueue

  /// Returns whether a stage must not run.
  public var shouldStopStage: (Stage) -> Bool = { _ in false }

  /// Called before each stage, where it runs.
  public var beforeStage: (Stage) -> Void = { _ in }

  /// Creates a customizer with the default queues.
  public init() {}
}
