// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An event in a run that `start` started.
public enum ChainEvent: Sendable {
  /// The run has started.
  case started

  /// A step, or a further attempt of the steps from here on, has started.
  case stepStarted(ChainStep)

  /// A step has reported its progress, from 0 to 1.
  case stepProgress(ChainStep, Double)

  /// The work is retried after a failure at this step; the number counts the first attempt.
  case stepRetrying(ChainStep, attempt: Int)

  /// The progression of this step has reached a stage.
  case stageReached(ChainStep, any Sendable)

  /// A step has ended, with an error if it threw one.
  ///
  /// A later attempt or `recover` may follow; ``Run/failedStep`` is the step that the run failed at.
  case stepFinished(ChainStep, duration: Duration, error: (any Error)?)

  /// A completed step was undone, with an error if its undo threw one.
  case undone(ChainStep, error: (any Error)?)

  /// The run has ended; no event follows.
  case ended(ChainState)
}
