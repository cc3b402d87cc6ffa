// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Makes attempts at some work until one succeeds or none follows; every retry and every time limit does.
///
/// Each attempt that fails, the last one as well, undoes the steps that it has completed before the next one begins or
/// its error is thrown. When the run is cancelled, it undoes them with the rest. Any cancellation of the run ends the
/// wait for the next attempt.
///
/// - Parameters:
///   - policy: How many attempts there are; one by default.
///   - history: What a journal has stored of them.
///   - execution: The run; nil outside of runs, where there is nothing to undo.
///   - outer: The scope of the work.
///   - isAbandonable: Whether the run may stop waiting for the work.
///   - recording: Where undos are recorded.
///   - onRetry: Receives the number of the next attempt, and the error of the one that has failed.
///   - body: Makes an attempt; its steps belong to the scope that it receives.
func attempt<Value>(
  _ policy: RetryPolicy = RetryPolicy(maxAttempts: 1, backoff: .none),
  _ clock: any Clock<Duration> = ContinuousClock(),
  if isRetryable: (any Error) async -> Bool = { _ in true },
  history: AttemptHistory? = nil,
  of execution: Execution?,
  in outer: StepScope?,
  isAbandonable: Bool = false,
  recording: Recording?,
  onRetry: (Int, any Error) -> Void = { _, _ in },
  body: (StepScope?) async throws -> Value
) async throws -> Value {
  var attempts = history?.attempts(policy, clock: clock) ?? Attempts(policy, clock: clock)
  func isCancelled() -> Bool { execution?.isInterrupted ?? Task.isCancelled || outer?.isAbandoned ?? false }
  while true {
    let scope = execution.map { StepScope(of: $0, in: outer, isAbandonable: isAbandonable) }
    do {
      let value = try await body(scope)
      await scope?.end()
      return value
    } catch {
      // What an earlier run has decided; nil when none has.
      let continues = history?.continues
      if continues == nil, isCancelled() {
        await scope?.end()
        throw error
      }
      history?.attemptFailed(error)
      await scope?.fail(recording)
      switch continues {
      case false?: throw error
      case true?:
        onRetry(attempts.number + 1, error)
        attempts.replayNext()
      case nil:
        guard await attempts.allowAnother(after: error, if: isRetryable) else {
          history?.decideAgainstAnother()
          throw error
        }
        guard !isCancelled() else { throw error }
        onRetry(attempts.number + 1, error)
        guard await attempts.waitForNext(in: execution), !isCancelled() else { throw error }
      }
    }
  }
}

extension Attempts {
  /// Waits until the next attempt of code in a run is due; returns false when that was cancelled.
  fileprivate mutating func waitForNext(in run: Execution?) async -> Bool {
    guard let run else { return await waitForNext() }
    return await waitForNext(by: run.wait) && !run.isCancellationRequested
  }
}

/// What a journal has stored of the attempts at a key.
struct AttemptHistory {
  let key: JournalKey
  let journal: any RunJournal
  /// Whether nothing else stores that no further attempt follows: the work is no step, whose end would say so.
  var isGroup = false

  /// Whether another attempt follows the current one; nil when no earlier run has decided that.
  var continues: Bool? { journal.continues(after: key.attemptCount, at: key) }

  /// Returns the attempts that follow those of earlier runs.
  func attempts(_ policy: RetryPolicy, clock: any Clock<Duration>) -> Attempts {
    let elapsed = policy.maxElapsed.map { journal.elapsed(of: $0, at: key) } ?? .zero
    return Attempts(policy, clock: clock, after: key.attemptCount, elapsed: elapsed)
  }

  func attemptFailed(_ error: any Error) { journal.attemptFailed(key, error) }

  func decideAgainstAnother() {
    if isGroup { journal.store(decision: key.attemptCount, at: key) }
  }
}

// MARK: - Scopes of steps

/// Steps of a run that may fail although the run continues: an attempt, or work that the run may abandon.
final class StepScope: Sendable {
  let execution: Execution
  /// The scope around it in the same run.
  let outer: StepScope?
  let undos = UndoStack()
  /// The calls of `step` in flight here; those in an attempt count where the attempt is.
  let calls = InFlightCounter()
  private let isAbandonable: Bool
  /// The innermost scope around it that the run may abandon.
  private let abandonable: StepScope?
  private let hasFailed = Atomic(false)
  /// Of a scope that the run may abandon, those inside that have not ended, which the run would not wait for.
  private let inner = Lock<[ObjectIdentifier: StepScope]>([:])

  init(of execution: Execution, in outer: StepScope?, isAbandonable: Bool = false) {
    self.execution = execution
    self.outer = outer
    self.isAbandonable = isAbandonable
    abandonable = outer.flatMap { $0.isAbandonable ? $0 : $0.abandonable }
    abandonable?.inner.withLock { $0[ObjectIdentifier(self)] = self }
  }

  /// This scope and those around it.
  fileprivate var scopes: some Sequence<StepScope> { sequence(first: self, next: \.outer) }

  /// This scope and those around it that the run may abandon.
  private var abandonables: some Sequence<StepScope> {
    sequence(first: isAbandonable ? self : abandonable, next: { $0?.abandonable }).lazy.compactMap(\.self)
  }

  /// The innermost scope here that is still awaited separately from what is around it.
  var counting: StepScope? { abandonables.first { !$0.calls.isClosed } }

  /// Whether the run has stopped waiting for the work here.
  var isAbandoned: Bool { abandonables.contains { $0.calls.hasEndedWithoutValue } }

  /// The run stops waiting for the work here.
  func abandon() {
    calls.abandon()
    CancellationCount.increment()
  }

  /// Whether what completes here now is undone at once.
  fileprivate var isOver: Bool { isAbandoned || scopes.contains { $0.hasFailed.load(ordering: .acquiring) } }

  /// The work here has failed: undoes what it has completed, shielded from cancellation.
  func fail(_ recording: Recording?) async {
    hasFailed.store(true, ordering: .releasing)
    await execution.undoShielded(takeUndos(), recording: recording)
  }

  /// Passes the undos of what has completed here on to what is around it.
  func end() async { await execution.adopt(takeUndos(), in: outer) }

  private func takeUndos() -> [UndoStack.Undo] {
    _ = abandonable?.inner.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
    guard isAbandonable else { return undos.takeAll(closing: true) }
    var (scopes, undos) = ([self], [UndoStack.Undo]())
    while let scope = scopes.popLast() {
      undos += scope.undos.takeAll(closing: true)
      scopes += scope.inner.withLock { exchange(&$0, with: [:]).values }
    }
    return UndoStack.Undo.newestFirst(undos)
  }
}

extension Execution {
  /// Stores how to undo steps that have completed: in a scope of the run, or in the run.
  ///
  /// What completes late, in a scope that has failed or was abandoned, or in a run that has ended without a value, is
  /// undone at once.
  func adopt(_ undos: [UndoStack.Undo], in stepScope: StepScope?) async {
    guard !undos.isEmpty else { return }
    func isOver() -> Bool { stepScope?.isOver ?? false }
    if let stepScope, stepScope.scopes.contains(where: { $0.undos.push(undos, unless: isOver) }) { return }
    for execution in sequence(first: self, next: \.outer) where !isOver() {
      if execution.calls.begin() {
        defer { execution.calls.end() }
        if execution.undos.push(undos, unless: isOver) { return }
      }
      if execution.calls.hasEndedWithoutValue { break }
      if execution.outer == nil, !isOver() { return }
    }
    let late = UndoStack.Undo.newestFirst(undos)
    // The run awaits what it has not abandoned, so that its handlers receive the failures.
    if isOver(), stepScope?.isAbandoned == false { return await undoShielded(late, recording: recording) }
    await undoLate(late)
  }
}
