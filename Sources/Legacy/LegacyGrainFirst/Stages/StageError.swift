// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a stage cannot be continued or completed.
@available(*, deprecated, message: "Use ProgressionError of Stepwise")
// Safety: the run that met the stage does not use it any more, and stages of the first edition are values.
public enum StageError<Stage: StageProtocol>: Error, @unchecked Sendable {
  /// The stage has no next stage.
  case stageAlreadyCompleted(Stage)

  /// The stage has neither a next stage nor a completion.
  case stageInvalid(Stage)

  /// The last stage has no completion.
  case expectedCompletion(Stage)
}
