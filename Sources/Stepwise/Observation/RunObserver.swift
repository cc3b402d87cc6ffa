// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Observes runs, for logs, metrics and traces: their steps, retries, undos and outcomes.
///
/// Every method has an empty default. Install an observer for a chain (``Chain/observed(by:)``), for the runs that a
/// body starts (``withRunObserver(_:isolation:_:)``), or for the process (``RunObservers/install(_:)``). A run that
/// several of them apply to calls those of the process first, then those of scopes, outermost first, then those of
/// chains. A nested chain, a branch of `zip` or `race`, and a job are separate runs with a parent.
///
/// The methods are called synchronously, without a lock held and usually on the thread of the step, never on the
/// caller's actor. The calls for a run and the runs nested in it never overlap, and are in order: an event that occurs
/// during a call is delivered after it, by the thread that is in the call. ``runEnded(_:duration:outcome:)`` is called
/// after the `finally` handlers and before code that awaits the run resumes, unless a step that the run abandoned is in
/// a call at that time. Calls for different runs may overlap. A method that blocks delays the run; what concurrent
/// branches report until it returns is stored.
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

  /// The stored value of a step of a durable run was returned; ``stepFinished(_:duration:error:)`` follows.
  func stepReplayed(_ step: ObservedStep)

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
  public func stepReplayed(_ step: ObservedStep) {}
  /// Does nothing.
  public func stepUndone(_ step: ObservedStep, error: (any Error)?) {}
  /// Does nothing.
  public func runProgressed(_ run: ObservedRun, progress: ChainProgress) {}
  /// Does nothing.
  public func runEnded(_ run: ObservedRun, duration: Duration, outcome: ChainState) {}
}

/// Identifies a run in the calls of an observer.
public struct ObservedRun: Hashable, Identifiable, Sendable, CustomStringConvertible {
  /// A number that no other run of the process has.
  public let id: UInt64

  /// The name of the chain, or else the names of its first and last step.
  public let name: String

  /// The identifier of the enclosing observed run, if any.
  public let parentID: UInt64?

  /// The name and the number.
  public var description: String { "\(name) (run \(id))" }
}

/// Identifies a step in the calls of an observer.
public struct ObservedStep: Hashable, Sendable, CustomStringConvertible {
  /// The run that the step is part of; for an undo, the run that undoes it, which may contain that one.
  public let run: ObservedRun

  /// The position and the name.
  ///
  /// The steps of a nested chain are counted at its position.
  public let step: ChainStep

  /// How many times the step has started in this run and in the run that contains it, starting at 1.
  public let attempt: Int

  /// The name, or the position, counted from 1, of a step without a name.
  public var description: String { step.description }
}

/// Installs observers for all runs of the process.
public enum RunObservers: Sendable {
  /// Whether an observer was ever installed for the process or a scope; otherwise no run looks for them.
  private static let used = Atomic(false)

  /// How many are installed for the process.
  private static let count = Atomic(0)

  private static let installed = Lock(OrderedSlots<any RunObserver>())

  static var isUsed: Bool { used.load(ordering: .acquiring) }

  /// Notes that an observer is about to be installed for the process or a scope.
  static func use() { used.store(true, ordering: .releasing) }

  /// Those installed now, in the order in which they were installed.
  static var all: [any RunObserver] {
    guard count.load(ordering: .acquiring) > 0 else { return [] }
    return installed.withLock { slots in
      var all: [any RunObserver] = []
      slots.forEach { _, observer in all.append(observer) }
      return all
    }
  }

  /// Notifies an observer of every run that starts from now on in this process.
  ///
  /// - Parameter observer: Receives the events of each run.
  /// - Returns: The registration, through which to remove the observer. Releasing it does not remove the observer.
  @discardableResult
  public static func install(_ observer: some RunObserver) -> Registration {
    use()
    let key = installed.withLock { $0.append(observer) }
    count.add(1, ordering: .releasing)
    return Registration(key: key)
  }

  /// Removes an observer of the process.
  public struct Registration: Sendable {
    let key: OrderedSlots<any RunObserver>.Key

    /// Removes the observer; runs that have started continue to notify it.
    public func remove() {
      // Released outside the lock.
      if installed.withLock({ $0.remove(key) }) != nil { count.subtract(1, ordering: .releasing) }
    }
  }
}

/// The observers and traces of the runs that the current task starts.
struct ObservationScope: Sendable {
  /// The observers of scopes, outermost first.
  var observers: [any RunObserver] = []
  var collectors: [RunCollector] = []
  /// Measures the time of traces; nil for the continuous clock.
  var clock: (@Sendable () -> Duration)?
  /// The innermost observed run around.
  var parentID: UInt64?

  /// Whether a trace needs the runs also when their handles are gone.
  var isTraced: Bool { collectors.contains(where: \.isOpen) }

  /// The number of entries that traces need.
  var capacity: Int { collectors.map(\.capacity).max() ?? 0 }
}
