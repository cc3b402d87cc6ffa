// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What stores the ends of a run's steps, so that a further run continues where this one stopped.
///
/// The engine knows nothing of storage: it calls the journal where something has to be stored or may have been stored
/// before. Most runs have none, and pay a comparison with nil for each step.
package protocol RunJournal: AnyObject, Sendable {
  /// Whether the run stops in this process and is to be resumed: nothing is undone, and `onError` is not called.
  var isStopped: Bool { get }

  /// Whether the run is being undone, so that no body runs any more and nothing is tried again.
  var isUnwinding: Bool { get }

  /// Returns the input of the run, or its outcome if it has ended before.
  ///
  /// - Parameter interrupt: Cancels the run's task.
  /// - Returns: The input, or the outcome.
  /// - Throws: An error that ends the run before it begins.
  func begin(_ interrupt: @escaping @Sendable (_ reason: String?) -> Void) async throws -> JournalStart

  /// Performs a step and stores its end, or returns the end that was stored.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - run: The run that the step belongs to.
  ///   - body: Performs the step; calls `inside(_:branch:_:)` once for each attempt.
  /// - Returns: The end.
  /// - Throws: The error of the step as it is stored, or an error that stops the run.
  nonisolated(nonsending) func step<Value>(
    _ step: JournalStep,
    in run: JournalRun,
    _ body: nonisolated(nonsending) (JournalPlace) async throws -> Value
  ) async throws -> JournalEnd<Value>

  /// Returns a place for steps, in the order of the calls.
  func open(_ name: String) -> JournalPlace

  /// Runs one attempt of the work at a place, or one of its branches; the current place when nil.
  nonisolated(nonsending) func inside<Value>(
    _ place: JournalPlace?,
    branch: Int?,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value

  /// Runs the work at a place, or one of its branches, and stores its error.
  ///
  /// - Parameters:
  ///   - place: The place.
  ///   - branch: The branch; nil for all of the work.
  ///   - limit: A time limit, which is stored as a deadline.
  ///   - body: The work; receives what is left of the limit.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws, as it is stored.
  nonisolated(nonsending) func group<Value>(
    _ place: JournalPlace,
    branch: Int?,
    limit: Duration?,
    _ body: nonisolated(nonsending) (Duration) async throws -> Value
  ) async throws -> Value

  /// The branch that has decided the work at a place, if that was stored.
  func decision(at place: JournalPlace) -> Int?
  func store(decision branch: Int, at place: JournalPlace) async throws

  /// An attempt at a place has failed; that is stored before what it completed is undone.
  func attemptFailed(_ place: JournalPlace, _ error: any Error)

  /// Stores that steps are going to be undone, with the failures so far.
  func willUndo(_ steps: [Int]) async

  /// Undoes a step and stores that; returns false without doing so when it was undone before or the run has stopped.
  nonisolated(nonsending) func undo(
    _ step: Int,
    _ body: nonisolated(nonsending) @Sendable () async throws -> Void
  ) async throws -> Bool

  /// Stores the outcome, before anything is undone.
  ///
  /// - Returns: The outcome, which an earlier run may have decided.
  func conclude(_ outcome: Outcome<any Sendable>) async -> Outcome<Void>

  /// Everything that had to be undone has been tried.
  ///
  /// - Returns: Whether the run has ended for good.
  func finish() async -> Bool

  /// Releases what the run holds; no other call follows.
  func end() async

  /// A source of cancellation that does not end the run for good has interrupted it.
  func stop()

  /// Stores that the run is cancelled, and then interrupts it; returns whether this call has cancelled it.
  func cancel(reason: String?) -> Bool
}

/// What a run with a journal starts with.
package enum JournalStart: Sendable {
  case input(any Sendable)
  /// The run has ended before.
  case ended(Outcome<any Sendable>)
}

/// A step, as a journal knows it.
package struct JournalStep: Sendable {
  package let name: String
  package let isUndoable: Bool
  /// Whether the engine calls the steps at this place one after the other.
  package let isPlanned: Bool
}

/// The end of a step.
package struct JournalEnd<Value> {
  package let value: Value
  /// The position in the order in which steps completed; nil when there is nothing to undo any more.
  package let number: Int?
  /// The value cannot be stored: the step has failed, and is undone with the value.
  package let error: (any Error)?
  package let isReplayed: Bool

  package init(value: Value, number: Int?, error: (any Error)? = nil, isReplayed: Bool) {
    self.value = value
    self.number = number
    self.error = error
    self.isReplayed = isReplayed
  }
}

/// A position among the steps of a run, and the number of attempts there.
package final class JournalPlace: Sendable {
  package let path: String
  private let attempts: Lock<Int>

  /// - Parameters:
  ///   - path: The names of what is around it, and its own.
  ///   - attempts: The attempts that have failed in earlier processes.
  package init(_ path: String, attempts: Int) {
    self.path = path
    self.attempts = Lock(attempts)
  }

  /// The attempts so far.
  package var attemptCount: Int { attempts.withLock { $0 } }

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
  /// Whether the whole run is cancelled, as opposed to a part of it, such as a branch that has lost.
  package let isRunCancelled: @Sendable () -> Bool
}
