// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Attempt {
  /// The work here has failed: undoes what it has completed, shielded from cancellation.
  func fail(_ recording: Recording?) async {
    setFailed()
    await run.undoShielded(UndoStack.Undo.newestFirst(takeUndos()), recording: recording)
  }

  /// Passes the undos of what has completed here on to what is around it.
  func passUndosOn() async { await run.adopt(takeUndos(), in: outer) }
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
  func isCancelled() -> Bool {
    run.map { !$0.allowsAttempts } ?? Task.isCancelled || outer?.isAbandoned ?? false
  }
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

  /// Returns the attempts, whose time includes that of earlier processes.
  func attempts(_ policy: RetryPolicy, clock: any Clock<Duration>) async -> Attempts {
    var attempts = Attempts(policy, clock: clock)
    if let limit = policy.maxElapsed {
      let elapsed = { @Sendable [journal, key] in await journal.elapsed($0, of: limit, after: $1, at: key) }
      let before = await elapsed(.zero, 0)
      attempts.totalElapsed = { await elapsed(before + $0, $1) }
    }
    // A step is stored as a whole, with its waits.
    if !key.isBody { attempts.sleep = { [journal] in try await journal.beginWait(for: $0, by: clock)() } }
    return attempts
  }
}
