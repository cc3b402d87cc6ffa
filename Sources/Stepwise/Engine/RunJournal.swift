// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What stores the ends of a run's steps, so that a further run continues where this one stopped.
///
/// The engine knows nothing of storage: it calls the journal where something has to be stored or may have been stored
/// before. Most runs have none, and pay a comparison with nil for each step.
// A protocol although one type conforms, which another module defines: `step`, `inside` and `offExecutor` are generic in the
// value of the work, and no closure is, so that a struct of closures would have to erase each value.
package protocol RunJournal: AnyObject, Sendable {
  /// Whether the run stops in this process and is to be resumed: nothing is undone, and `onError` is not called.
  var isStopped: Bool { get }

  /// Whether the running code is the body of a step, or what code between steps waits for, as opposed to that code.
  var isInStep: Bool { get }

  /// Returns the input of the run, or its outcome if it has ended before; throws to end the run before it begins.
  @concurrent func begin(_ interrupt: @escaping @Sendable (_ reason: String?) -> Void) async throws -> JournalStart

  /// Performs a step and stores its end, or returns or throws the end that was stored.
  ///
  /// A step within the body of another one is performed and not stored: the outer one is stored as a whole. There, it throws
  /// before the body when the step can be undone, which stops the run, and when the run is cancelled.
  ///
  /// When the value of a step cannot be stored, `undoUnstored` undoes the step with it at once, and returns whether that has
  /// not thrown; then the error of the step is thrown. The body performs the step, and calls `inside(_:branch:_:)` once for
  /// each attempt.
  func step<Value>(
    _ step: JournalStep,
    in run: JournalRun,
    undoUnstored: (Value) async -> Bool,
    _ body: (JournalKey) async throws -> Value
  ) async throws -> JournalEnd<Value>

  /// Nothing undoes these steps any more: the run that they belong to has ended with a value inside of this one.
  func dropUndos(of steps: [Int])

  /// Returns a key for steps, in the order of the calls.
  func open(_ name: String) -> JournalKey

  /// Runs one attempt of the work at a key, or one of its branches; the current key when nil.
  ///
  /// With neither, it is all code between the steps of the run, which runs one job after another.
  func inside<Value>(_ key: JournalKey?, branch: Int?, _ body: () async throws -> Value) async throws -> Value

  /// Runs what the code between steps waits for and does not do itself, such as undos, and returns off the caller's actor.
  ///
  /// It is run again by each run, and the code continues at the same point.
  @concurrent func offExecutor<Value: Sendable>(
    as kind: WorkOffExecutor,
    _ work: @concurrent @escaping @Sendable () async -> Value
  ) async -> Value

  /// Begins a wait between steps, whose end is stored with what follows; a further run waits for what is left.
  ///
  /// One in the body of a step is a time limit, and begins again with the body unless the run was suspended meanwhile.
  ///
  /// - Returns: Waits until it is over; throws `CancellationError` when the task is cancelled before.
  func beginWait(
    for duration: Duration,
    by clock: any Clock<Duration>
  ) -> @concurrent @Sendable () async throws -> Void

  /// Returns how much of a limit has passed after some attempts at a key: since the first one began, in earlier runs too.
  ///
  /// The caller knows of a time. Between steps, all runs receive that of the first one which came here.
  @concurrent func elapsed(
    _ time: Duration,
    of limit: Duration,
    after attempts: Int,
    at key: JournalKey
  ) async -> Duration

  /// Undoes the first of the steps that are undone now, one after another, and stores that; returns false without undoing it
  /// when it was undone before or the run has stopped.
  func undo(_ steps: ArraySlice<Int>, _ body: @Sendable () async throws -> Void) async throws -> Bool

  /// Stores the outcome, before anything is undone.
  ///
  /// A run with a value keeps some steps; what others have completed, such as those of abandoned work, is undone.
  ///
  /// - Returns: The outcome, which an earlier run may have decided; with an output where it is that of the earlier run.
  @concurrent func conclude(_ outcome: Outcome<any Sendable>, keeping steps: [Int]) async -> Outcome<(any Sendable)?>

  /// Everything that had to be undone has been tried.
  ///
  /// - Returns: Whether the run has ended for good.
  @concurrent func finish() async -> Bool

  /// Releases what the run holds; no other call follows.
  @concurrent func end() async

  /// A source of cancellation that does not end the run for good has interrupted it, or a part of it.
  func stop(_ reach: JournalStop)

  /// Stores that the run is cancelled, and then interrupts it; returns whether this call has cancelled it.
  func cancel(reason: String?) -> Bool
}

/// Where the bodies of steps run, if the code around them chooses an executor.
package enum BodyExecutor {
  @TaskLocal package static var chosen: (any TaskExecutor)?
}

/// What code between steps waits for and does not do itself.
package enum WorkOffExecutor {
  /// The way through a gate.
  case admission
  case handlers
  /// Undos, which the run waits for before it ends, also those of abandoned work.
  case undos
  /// A run with a journal of its own, which a further process begins where it had ended: after what has interrupted it.
  case run
}

/// What a source of cancellation has interrupted.
package enum JournalStop {
  case run
  /// The run as one of its chain, as opposed to what awaits it.
  case chain
  /// A part of the code between steps, which the run has not interrupted itself. A further process would find another path.
  case part
}

/// What a run with a journal starts with.
package enum JournalStart: Sendable {
  case input(any Sendable)
  /// The run has ended before.
  case ended(Outcome<any Sendable>)
}

package struct JournalStep: Sendable {
  package let name: String
  package let isUndoable: Bool
}

package struct JournalEnd<Value> {
  package let value: Value
  /// The number in the order in which steps completed; nil when there is nothing to undo any more.
  package let number: Int?
  package let isReplayed: Bool

  package init(value: Value, number: Int?, isReplayed: Bool) {
    self.value = value
    self.number = number
    self.isReplayed = isReplayed
  }
}

/// What a journal knows steps by, and the number of attempts there.
package final class JournalKey: Sendable {
  /// The names of what is around it, and its own.
  package let path: String
  /// Whether the work there is the body of a step.
  package let isBody: Bool
  private let attempts = Lock(0)

  package init(_ path: String, isBody: Bool = false) {
    self.path = path
    self.isBody = isBody
  }

  /// Begins an attempt and returns its number, starting at 1.
  package func beginAttempt() -> Int {
    attempts.withLock { attempts in
      attempts += 1
      return attempts
    }
  }
}

/// A run, as its journal knows it.
package struct JournalRun: Sendable {
  /// Whether the run, or the part of it that the step belongs to, should stop.
  package let isCancellationRequested: @Sendable () -> Bool
  /// Whether the run does not wait for the step any more.
  package let isAbandoned: @Sendable () -> Bool
}
