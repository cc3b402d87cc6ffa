// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What happens in a run that was begun by `start`.
public enum ChainEvent: Sendable {
  /// The run has begun.
  case started

  /// A step, or a further attempt of the steps from here on, has begun.
  case stepStarted(ChainStep)

  /// A step has reported how far it is, from 0 to 1.
  case stepProgress(ChainStep, Double)

  /// After a failure at this step there will be another attempt; the number counts the first one.
  case stepRetrying(ChainStep, attempt: Int)

  /// The progression that runs as this step has reached a stage.
  case stageReached(ChainStep, any Sendable)

  /// A step has ended, with an error if it threw one.
  case stepFinished(ChainStep, duration: Duration, error: (any Error)?)

  /// A completed step was undone, with an error if its undo threw one.
  case undone(ChainStep, error: (any Error)?)

  /// The run has ended; nothing follows.
  case ended(ChainState)
}
