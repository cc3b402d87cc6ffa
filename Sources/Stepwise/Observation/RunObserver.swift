// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Observes runs, for logs, metrics and traces: their steps, retries, undos and outcomes.
///
/// Implement the methods that you need; each is empty by default. Install an observer for a chain
/// (``Chain/observed(by:)``), for the runs that a body starts (``withRunObserver(_:isolation:_:)``), or for the process
/// (``RunObservers/install(_:)``). A run calls those of the process first, then those of scopes, outermost first, then
/// those of chains. A nested chain, a branch of `zip` or `race`, and a job are separate runs with a parent.
///
/// The methods are called synchronously, without a lock held and usually on the thread of the step, never on the
/// caller's actor. The calls for a run and the runs nested in it never overlap, and are in order: an event that occurs
/// during a call is delivered after it, by the thread that is in the call. ``runEnded(_:duration:outcome:)`` is called
/// after the `finally` handlers and before code that awaits the run resumes, unless a step that the run abandoned is in
/// a call at that time. Calls for different runs may overlap. A method that blocks delays the run; events from
/// concurrent branches are queued until it returns.
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

  /// An attempt, whose number starts at 1, has failed at a step, and another one follows.
  func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error)

  /// A step has ended, with an error if it threw one or was abandoned.
  func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?)

  /// The stored value of a step of a durable run was returned; ``stepFinished(_:duration:error:)`` follows.
  func stepReplayed(_ step: ObservedStep)

  /// A completed step was undone, with an error if its undo threw one.
  func stepUndone(_ step: ObservedStep, error: (any Error)?)

  /// A run has progressed: a step has reported progress or has ended.
  ///
  /// A chain that is a step of the run counts as part of it, and so does a chain that a step runs itself.
  func runProgressed(_ run: ObservedRun, progress: ChainProgress)

  /// A run has ended, including its handlers; the last call for it, exactly once.
  ///
  /// The duration includes the wait for a slot of an overlap policy. A nested run that its outer run abandoned may end
  /// after that one.
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
///
/// Use ``id`` as the key of what your observer stores for a run, and ``parentID`` to nest spans.
public struct ObservedRun: Sendable {
  /// A number that no other run of the process has.
  public let id: UInt64

  /// The name of the chain, or else the names of its first and last step.
  public let name: String

  /// The identifier of the enclosing observed run, if any.
  public let parentID: UInt64?
}

/// Identifies a step in the calls of an observer.
///
/// Attempts of one step differ in ``attempt``: measure each, or count your retries with it.
public struct ObservedStep: Sendable, CustomStringConvertible {
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
///
/// Call ``install(_:)`` once, before your program starts its first run.
public enum RunObservers: Sendable {
  /// Whether an observer was ever installed for the process or a scope; otherwise no run looks for them.
  private static let used = Atomic(false)

  private static let installed = Lock(OrderedSlots<any RunObserver>())

  static var isUsed: Bool { used.load(ordering: .acquiring) }

  static func use() { used.store(true, ordering: .releasing) }

  static var all: [any RunObserver] { isUsed ? installed.withLock { $0.elements } : [] }

  /// Notifies an observer of every run that starts from now on in this process.
  ///
  /// Releasing the registration does not remove the observer.
  @discardableResult
  public static func install(_ observer: some RunObserver) -> Registration {
    use()
    return Registration(key: installed.withLock { $0.append(observer) })
  }

  /// Removes an observer of the process, for example at the end of a test.
  public struct Registration: Sendable {
    let key: OrderedSlots<any RunObserver>.Key

    /// Removes the observer; runs that have started continue to notify it.
    public func remove() {
      // Released outside the lock.
      _ = installed.withLock { $0.remove(key) }
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

  var capacity: Int { collectors.map(\.capacity).max() ?? 0 }
}

final class RunWatch: Sendable {
  let run: ObservedRun
  let observers: [any RunObserver]
  /// The scope of the runs that are started in this one.
  let scope: ObservationScope

  private static let lastID = Atomic<UInt64>(0)

  init(_ chain: ChainSummary, _ observers: [any RunObserver], in outer: ObservationScope) {
    let id = Self.lastID.add(1, ordering: .relaxed).newValue
    run = ObservedRun(id: id, name: chain.name, parentID: outer.parentID)
    self.observers = observers
    var scope = outer
    scope.parentID = id
    self.scope = scope
  }

  /// Returns nil when nothing observes a run of a chain, with some observers, that starts here.
  static func make(
    for chain: @autoclosure () -> ChainSummary,
    _ own: [any RunObserver],
    in observation: ObservationScope?
  ) -> RunWatch? {
    guard !own.isEmpty || RunObservers.isUsed || observation != nil else { return nil }
    let scope = observation ?? ObservationScope()
    let observers = RunObservers.all + scope.observers + own
    return observers.isEmpty && !scope.isTraced ? nil : RunWatch(chain(), observers, in: scope)
  }
}

@usableFromInline
struct ChainIdentity: Sendable {
  var name: String?
  var observers: [any RunObserver] = []
  /// Whether it is a progression that no chain of the user runs, whose stages cannot be undone.
  var isProgression = false
}

/// What a run knows of its chain; the subclass has the steps.
// A class, and no closure that returns the summary, which would be allocated for each run.
@usableFromInline
class DescribedChain: @unchecked Sendable {  // Safety: it has constants and a lock alone, and so has its subclass.
  /// The name and the observers, if it has any.
  final let identity: ChainIdentity
  final let stepCount: Int
  private let madeSummary = Lock<ChainSummary?>(nil)

  init(_ identity: ChainIdentity, stepCount: Int) {
    self.identity = identity
    self.stepCount = stepCount
  }

  /// The names of the steps that have one, including those of nested chains.
  var names: [Int: String] { [:] }

  /// What records and errors need of the chain; made for the first of them.
  ///
  /// Retaining it does not retain the steps.
  final var summary: ChainSummary {
    if let summary = madeSummary.withLock({ $0 }) { return summary }
    let summary = ChainSummary(identity: identity, stepCount: stepCount, names: names)
    madeSummary.withLock { $0 = summary }
    return summary
  }
}

struct ChainSummary: Sendable {
  let identity: ChainIdentity
  let stepCount: Int
  /// The names of the steps that have one, including those of nested chains.
  let names: [Int: String]

  var name: String {
    let last = max(0, stepCount - 1)
    let ends = [0, last].map { ChainStep(index: $0, name: names[$0]).description }
    return identity.name ?? (last == 0 ? ends[0] : "\(ends[0]) → \(ends[1])")
  }
}

// MARK: - Traces

/// What a run has recorded so far, at one time: all that another module can read of it.
package struct RunReading: Sendable {
  /// The number that observers know the run by; nil when nothing observes it.
  package let id: UInt64?
  /// The number of the run in which it was started.
  package let parentID: UInt64?
  package let name: String?
  package let steps: Range<Int>
  package let step: @Sendable (Int) -> ChainStep
  package let start: Duration
  package let now: Duration
  /// What happened, oldest first.
  package let entries: [RunRecord.Entry]
  package let droppedCount: Int
}

/// Retains the first run of a scope and the newest ones, and counts those that it dropped.
final class RunCollector: Sendable {
  private struct State {
    /// Usually contains all the others.
    var first: RunRecorder?
    var others = OrderedSlots<RunRecorder>()
    var droppedCount = 0
  }

  let capacity: Int
  private let maxRuns: Int
  private let state = Lock(State())
  private let isOver = Atomic(false)

  /// Whether the runs have not been taken.
  var isOpen: Bool { !isOver.load(ordering: .acquiring) }

  init(capacity: Int, maxRuns: Int) {
    self.capacity = max(1, capacity)
    self.maxRuns = max(1, maxRuns)
  }

  func add(_ run: RunRecorder) {
    // The dropped run is released outside the lock.
    _ = state.withLock { state -> RunRecorder? in
      guard isOpen else { return nil }
      guard state.first != nil else {
        state.first = run
        return nil
      }
      state.others.append(run)
      guard state.others.count >= maxRuns else { return nil }
      state.droppedCount += 1
      return state.others.popFirst()
    }
  }

  /// Reads the runs, and retains nothing any more: the runs retain this object.
  func take(at time: Duration) -> ([RunReading], droppedCount: Int) {
    let (runs, droppedCount) = state.withLock { state in
      isOver.store(true, ordering: .releasing)
      return ((state.first.take().map { [$0] } ?? []) + state.others.removeAll(), state.droppedCount)
    }
    return (runs.map { $0.reading(at: time) }, droppedCount)
  }
}
