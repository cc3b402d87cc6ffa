// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a presentation ended without a result, as `on(_:ended:)` receives it.
public enum FlowEnding: Sendable {
  /// The user went back.
  case back

  /// The handler was released without being completed, so that the step cannot have a result.
  case abandoned

  /// The presentation was cancelled.
  case cancelled(Cancellation)

  /// The work behind the step failed, or the step could not be presented.
  case failed(any Error)
}
