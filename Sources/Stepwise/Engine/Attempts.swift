// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// One attempt at some steps of a run, which may fail, or be abandoned, although the run continues.
final class Attempt: Sendable {
  let run: Execution
  /// The attempt around it in the same run.
  let outer: Attempt?
  let undos = UndoStack()
  /// The calls of `step` in flight here; those in an attempt count where the attempt is.
  let calls = InFlightCounter()
  private let isAbandonable: Bool
  /// The innermost attempt around it that the run may abandon.
  private let abandonable: Attempt?
  private let hasFailed = Atomic(false)
  /// Of an attempt that the run may abandon, those inside that have not ended, which the run would not wait for.
  private let inner = Lock<[ObjectIdentifier: Attempt]>([:])

  init(of run: Execution, in outer: Attempt?, isAbandonable: Bool) {
    self.run = run
    self.outer = outer
    self.isAbandonable = isAbandonable
    abandonable = outer.flatMap { $0.isAbandonable ? $0 : $0.abandonable }
    abandonable?.inner.withLock { $0[ObjectIdentifier(self)] = self }
  }

  /// This attempt and those around it.
  var selfAndOuter: some Sequence<Attempt> { sequence(first: self, next: \.outer) }

  /// This attempt and those around it that the run may abandon.
  private var abandonables: some Sequence<Attempt> {
    sequence(first: isAbandonable ? self : abandonable, next: { $0?.abandonable }).lazy.compactMap(\.self)
  }

  /// The innermost attempt here that is still awaited separately from what is around it.
  var counting: Attempt? { abandonables.first { !$0.calls.isClosed } }

  /// Whether the run has stopped waiting for the work here.
  var isAbandoned: Bool { abandonables.contains { $0.calls.hasEndedWithoutValue } }

  /// The run stops waiting for the work here.
  func abandon() {
    calls.abandon()
    run.cancelAbandoned()
  }

  /// Whether what completes here now is undone at once.
  var undoesAtOnce: Bool {
    // Without the first check, attempts nested thousands deep take quadratic time.
    let hasFailed = run.hasFailedAttempt.load(ordering: .acquiring)
    return isAbandoned || hasFailed && selfAndOuter.contains { $0.hasFailed.load(ordering: .acquiring) }
  }

  /// The work here has failed: undoes what it has completed, shielded from cancellation.
  func fail(_ recording: Recording?) async {
    hasFailed.store(true, ordering: .releasing)
    run.hasFailedAttempt.store(true, ordering: .releasing)
    await run.undoShielded(UndoStack.Undo.newestFirst(takeUndos()), recording: recording)
  }

  /// Passes the undos of what has completed here on to what is around it.
  func passUndosOn() async { await run.adopt(takeUndos(), in: outer) }

  private func takeUndos() -> [UndoStack.Undo] {
    _ = abandonable?.inner.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
    guard isAbandonable else { return undos.close() }
    var (attempts, undos) = ([self], [UndoStack.Undo]())
    while let attempt = attempts.popLast() {
      undos += attempt.undos.close()
      attempts += attempt.inner.withLock { exchange(&$0, with: [:]).values }
    }
    return undos
  }
}

/// Makes attempts at some work until one succeeds or none follows; every retry and every time limit does.
///
/// Each attempt that fails, the last one as well, undoes the steps that it has completed before the next one begins or
/// its error is thrown. When the run is cancelled, it undoes them with the rest. Any cancellation of the run ends the
/// wait for the next attempt.
///
/// Outside of runs there is nothing to undo. The body's steps belong to the attempt that it receives, which is inside the
/// outer one.
func makeAttempts<Value>(
  _ policy: RetryPolicy = RetryPolicy(maxAttempts: 1, backoff: .none),
  _ clock: any Clock<Duration> = ContinuousClock(),
  if isRetryable: (any Error) async -> Bool = { _ in true },
  history: AttemptHistory? = nil,
  of run: Execution?,
  in outer: Attempt?,
  isAbandonable: Bool = false,
  recording: Recording?,
  onRetry: (Int, any Error) -> Void = { _, _ in },
  body: (Attempt?) async throws -> Value
) async throws -> Value {
  var attempts = await history?.attempts(policy, clock: clock) ?? Attempts(policy, clock: clock)
  func isCancelled() -> Bool { run.map { !$0.allowsAttempts } ?? Task.isCancelled || outer?.isAbandoned ?? false }
  while true {
    let attempt = run.map { Attempt(of: $0, in: outer, isAbandonable: isAbandonable) }
    do {
      let value = try await body(attempt)
      await attempt?.passUndosOn()
      return value
    } catch {
      if isCancelled() {
        await attempt?.passUndosOn()
        throw error
      }
      await attempt?.fail(recording)
      guard await attempts.allowAnother(after: error, if: isRetryable), !isCancelled() else { throw error }
      onRetry(attempts.number + 1, error)
      guard await attempts.waitForNext(in: run), !isCancelled() else { throw error }
    }
  }
}

extension Attempts {
  /// Waits until the next attempt of code in a run is due; returns false when that was cancelled.
  fileprivate mutating func waitForNext(in run: Execution?) async -> Bool {
    guard let run, !Scope.current.isRepetition else { return await waitForNext() }
    return await waitForNext(by: run.wait) && !run.isCancellationRequested
  }
}

/// What a journal stores of the attempts at a key.
struct AttemptHistory {
  let key: JournalKey
  let journal: any RunJournal
  /// Whether the work is no step, which is stored as a whole, and has steps of its own.
  var hasSteps = false

  /// Returns the attempts, whose time includes that of earlier processes.
  func attempts(_ policy: RetryPolicy, clock: any Clock<Duration>) async -> Attempts {
    let elapsed = if let limit = policy.maxElapsed { await journal.elapsed(of: limit, at: key) } else { Duration.zero }
    var attempts = Attempts(policy, clock: clock, elapsed: elapsed)
    guard hasSteps else { return attempts }
    attempts.sleep = { [journal] in try await journal.beginWait(for: $0, by: clock)() }
    attempts.storedElapsed = { [journal, key] in journal.storedElapsed($0, of: $1, at: key) }
    return attempts
  }
}
