// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How the ask of a step has ended when it has no answer, as `on(_:ended:)` is told.
public enum FlowEnding: Sendable {
  /// The user went back.
  case back

  /// The handler was let go of, so that nobody can answer any more.
  case abandoned

  /// The ask was cancelled.
  case cancelled(Cancellation)

  /// The work behind the step failed, or the step could not be asked.
  case failed(any Error)

  /// What is thrown for it.
  func error(of step: String) -> any Error {
    switch self {
    case .back: FlowError(.back, step: step)
    case .abandoned: FlowError(.abandoned, step: step)
    case .cancelled: CancellationError()
    case .failed(let error): error
    }
  }
}
