// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// An event in a run of a flow.
public enum FlowEvent: Sendable {
  /// The run has started.
  case started

  /// A step is being presented.
  case presented(step: String)

  /// A step has a result.
  case answered(step: String)

  /// A step has ended without a result.
  case unanswered(step: String, FlowEnding)

  /// The run has ended; no event follows.
  case ended(ChainState)
}

extension FlowEvent: CustomStringConvertible, CustomDebugStringConvertible {
  /// What happened, in words; names the type of a result and never contains it.
  public var description: String { words(\.description) }

  /// What happened, with the result.
  public var debugDescription: String { words(\.debugDescription) }

  private func words(_ text: (ChainState) -> String) -> String {
    switch self {
    case .started: "started"
    case .presented(let step): "\(step) presented"
    case .answered(let step): "\(step) answered"
    case .unanswered(let step, let ending): "\(step) ended without a result: \(ending)"
    case .ended(let state): text(state)
    }
  }
}

extension FlowEvent {
  init(_ end: FlowEnd, of step: String) {
    switch end {
    case .answered: self = .answered(step: step)
    case .ended(let ending): self = .unanswered(step: step, ending)
    }
  }
}
