// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why an execution in an environment ended without a result.
@available(*, deprecated, message: "Break from the loop over `stages`; a cancelled run throws CancellationError")
public enum EnvironmentError: Error {
  /// `shouldStop` returned true.
  case stopped
}
