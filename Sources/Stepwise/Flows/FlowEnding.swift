// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How the presentation of a step has ended when it has no answer, as `on(_:ended:)` receives it.
public enum FlowEnding: Sendable {
  /// The user went back.
  case back

  /// The handler was released without a call, so that the step cannot be answered.
  case abandoned

  /// The presentation was cancelled.
  case cancelled(Cancellation)

  /// The work behind the step failed, or the step could not be presented.
  case failed(any Error)
}
