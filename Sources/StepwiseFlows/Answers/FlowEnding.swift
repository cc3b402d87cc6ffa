// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

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

/// How the presentation of a step, or a flow, has ended, without the type of the result.
package enum FlowEnd: Sendable {
  case answered(any AnyBox)
  case ended(FlowEnding)

  init<Result: Sendable>(_ outcome: Outcome<Result>) {
    switch outcome {
    case .resolved(let value): self = .answered(Box(value))
    case .failed(let error): self = .ended(.failed(error))
    case .cancelled(let cancellation): self = .ended(.cancelled(cancellation))
    }
  }

  static var cancelledByTask: FlowEnd {
    .ended(.cancelled(Cancellation(reason: CancellationScope.current?.cancellationCause?.reason)))
  }

  /// Returns the result; throws the error for an end without one.
  func result<Result: Sendable>(of step: String) throws -> Result {
    switch self {
    case .answered(let box as Box<Result>): return box.value
    case .answered: throw FlowError(.wrongAnswer, step: step)
    case .ended(.back): throw FlowError(.back, step: step)
    case .ended(.abandoned): throw FlowError(.abandoned, step: step)
    case .ended(.cancelled): throw CancellationError()
    case .ended(.failed(let error)): throw error
    }
  }
}
