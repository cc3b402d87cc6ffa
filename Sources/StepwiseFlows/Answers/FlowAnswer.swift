// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The outcome of presenting a step, as ``FlowStep/ask(_:)`` returns it.
public enum FlowAnswer<Result: Sendable>: Sendable {
  /// The step was completed with a result.
  case answered(Result)

  /// The user went back.
  case back

  /// The step cannot be completed any more: its handler was released, or the work behind the step failed.
  ///
  /// In the second case ``FlowStep/result(for:)`` throws the error.
  case abandoned

  /// The presentation was cancelled, through its handler or with the task that presented the step.
  case cancelled
}

extension FlowAnswer {
  init(_ end: FlowEnd) {
    switch end {
    case .answered(let box as Box<Result>): self = .answered(box.value)
    case .ended(.back): self = .back
    case .ended(.cancelled): self = .cancelled
    case .answered, .ended(.abandoned), .ended(.failed): self = .abandoned
    }
  }
}

extension FlowAnswer: Equatable where Result: Equatable {}
