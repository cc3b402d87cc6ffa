// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What happens in a run of a flow.
public enum FlowEvent: Sendable {
  /// The run has begun.
  case started

  /// A step is being asked.
  case presented(step: String)

  /// A step was answered.
  case answered(step: String)

  /// A step has ended without an answer.
  case unanswered(step: String, FlowEnding)

  /// The run has ended; nothing follows.
  case ended(ChainState)
}
