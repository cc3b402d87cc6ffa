// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What happens in a run that you iterate with ``Run/events``: its steps, retries, undos and its end.
///
/// Use events to follow one run. To log or measure all your runs, use a ``RunObserver``.
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

  /// The time limit of a step, or of the steps that include it, has cancelled the step.
  case timedOut(ChainStep, duration: Duration)

  /// The run no longer waits for a step that exceeded its time; the step may still be running.
  case abandoned(ChainStep, duration: Duration)

  /// The stored value of a step was returned instead of running its body.
  case replayed(ChainStep)

  /// A completed step was undone, with an error if its undo threw one.
  case undone(ChainStep, error: (any Error)?)

  /// The run has ended; no event follows.
  case ended(ChainState)
}

extension ChainEvent: CustomStringConvertible, CustomDebugStringConvertible {
  /// What happened, in words; names the type of a stage or value and never contains it.
  public var description: String { words(\.description) { "\(type(of: $0))" } }

  /// What happened, with the stage or value.
  public var debugDescription: String { words(\.debugDescription) { String(reflecting: $0) } }

  private func words(_ text: (ChainState) -> String, stage: (any Sendable) -> String) -> String {
    switch self {
    case .started: "started"
    case .stepStarted(let step): "\(step) started"
    case .stepProgress(let step, let fraction): "\(step) at \(fraction)"
    case .stepRetrying(let step, let attempt): "\(step) starts attempt \(attempt)"
    case .stageReached(let step, let value): "\(step) reached \(stage(value))"
    case .stepFinished(let step, let duration, nil): "\(step) finished after \(duration)"
    case .stepFinished(let step, let duration, let error?): "\(step) failed after \(duration): \(error)"
    case .timedOut(let step, let duration): "\(step) timed out after \(duration)"
    case .abandoned(let step, let duration): "\(step) was abandoned after \(duration)"
    case .replayed(let step): "\(step) replayed"
    case .undone(let step, nil): "\(step) undone"
    case .undone(let step, let error?): "undo of \(step) failed: \(error)"
    case .ended(let state): text(state)
    }
  }
}

/// A step of a chain, as events, `onError` and ``Run/failedStep`` name it.
///
/// Print it in your messages, or compare its name in a test.
public struct ChainStep: Hashable, Sendable, CustomStringConvertible {
  /// The position in the chain, starting at 0.
  ///
  /// The steps of a nested chain are counted at its position.
  public let index: Int

  /// The name, if the step has one.
  public let name: String?

  package init(index: Int, name: String?) {
    self.index = index
    self.name = name
  }

  /// The name, or the position of a step without a name: "step 0" is the first.
  public var description: String { name ?? "step \(index)" }
}

/// The progress of a run, to show in a progress bar.
///
/// You get it by iterating ``Run/progress``.
public struct ChainProgress: Equatable, Sendable {
  /// The completed fraction, from 0 to 1.
  ///
  /// It never decreases, and is 1 when the run has completed with a value.
  public let fractionCompleted: Double

  /// The step that started last, also one inside another step: its name, or its position.
  ///
  /// The last element of a run has the name of its last step.
  public let step: String
}

extension RunRecorder {
  // They retain the handle of the run, whose release ends the recording.

  func events(of run: any AnyObject & Sendable) -> Broadcast<State, Key>.Reader<ChainEvent> {
    .init(owner: run, subscribe: { self.subscribe(to: Self.initialKeys) }, read: { self.event($0, $1) })
  }

  func progress(of run: any AnyObject & Sendable) -> Broadcast<State, Key>.Reader<ChainProgress> {
    .init(owner: run, subscribe: { self.subscribe { _ in [.overall] } }) { state, key in
      key == .overall ? self.progress(of: state.record) : nil
    }
  }
}
