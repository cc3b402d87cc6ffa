// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How the ask of a flow's step has ended, as ``FlowStep/ask(_:)`` gives it.
public enum FlowAnswer<Result: Sendable>: Sendable {
  /// The step was completed with a result.
  case answered(Result)

  /// The user went back.
  case back

  /// Nobody can answer any more: the handler was let go of, or the work behind the step failed.
  ///
  /// ``FlowStep/result(for:)`` throws the error in the latter case.
  case abandoned

  /// The ask was cancelled, by its handler or with the Task that asked.
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
