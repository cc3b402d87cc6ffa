// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Receives what happens in runs as it happens, for logs, metrics and traces.
///
/// Every method has an empty default. Install an observer for a chain (``Chain/observed(by:)``), for the runs that a
/// body starts (``withRunObserver(_:isolation:_:)``), or for the process (``RunObservers/install(_:)``). A run that
/// several of them apply to calls those of the process first, then those of scopes, outermost first, then those of
/// chains. A nested chain or a branch of `zip` or `race` is a run of its own, with a parent; so is a job.
///
/// The methods are called synchronously, without a lock held and usually on the thread of the step, never on the
/// caller's actor. The calls for a run and the runs nested in it never overlap, and are in order: an event that occurs
/// during a call is delivered after it, by the thread that is in the call. ``runEnded(_:duration:outcome:)`` is called
/// after the `finally` handlers and before code that awaits the run resumes, unless a step that the run abandoned is in
/// a call at that time. Calls for different runs may overlap. A method that blocks delays the run; what
/// concurrent branches report meanwhile is stored until it returns.
///
/// ```swift
/// struct Printer: RunObserver {
///   func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
///     print("\(step.run.name): \(step) took \(duration)")
///   }
/// }
/// ```
public protocol RunObserver: Sendable {
  /// A run has started; the first call for it, even for a run that was cancelled before its first step.
  func runStarted(_ run: ObservedRun)

  /// A step, or a further attempt of it, has started.
  func stepStarted(_ step: ObservedStep)

  /// An attempt has failed, and another one follows.
  ///
  /// - Parameters:
  ///   - step: The step that failed.
  ///   - attempt: The number of the failed attempt, starting at 1.
  ///   - error: The error of the attempt.
  func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error)

  /// A step has ended.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - duration: The time since ``stepStarted(_:)``.
  ///   - error: The error, if it threw one or was abandoned.
  func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?)

  /// A completed step was undone.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - error: The error of the undo, if it threw one.
  func stepUndone(_ step: ObservedStep, error: (any Error)?)

  /// A run has progressed: a step has reported progress or has ended.
  ///
  /// A chain that is a step of the run counts as part of it, and so does a chain that a step runs itself.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - progress: The completed fraction, which never decreases, and the step that started last.
  func runProgressed(_ run: ObservedRun, progress: ChainProgress)

  /// A run has ended, including its handlers; the last call for it, exactly once.
  ///
  /// A nested run that its outer run abandoned may end after that one.
  ///
  /// - Parameters:
  ///   - run: The run.
  ///   - duration: The time since the run was created, including the wait for a slot of its overlap policy.
  ///   - outcome: The outcome.
  func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState)
}

extension RunObserver {
  /// Does nothing.
  public func runStarted(_ run: ObservedRun) {}
  /// Does nothing.
  public func stepStarted(_ step: ObservedStep) {}
  /// Does nothing.
  public func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {}
  /// Does nothing.
  public func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {}
  /// Does nothing.
  public func stepUndone(_ step: ObservedStep, error: (any Error)?) {}
  /// Does nothing.
  public func runProgressed(_ run: ObservedRun, progress: ChainProgress) {}
  /// Does nothing.
  public func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) {}
}
