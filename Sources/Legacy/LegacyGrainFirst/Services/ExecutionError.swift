// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why an execution with a customizer ended without a completion.
@available(*, deprecated, message: "Break from the loop over `stages`; a cancelled run throws CancellationError")
public enum ExecutionError: Error {
  /// `shouldStopStage` returned true.
  case stopped
}
