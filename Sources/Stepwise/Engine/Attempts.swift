// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Makes attempts at some work until one succeeds or none follows; every retry and every time limit does.
///
/// Each attempt that fails, the last one as well, undoes the steps that it has completed before the next one begins or
/// its error is thrown. When the run is cancelled, it undoes them with the rest. Any cancellation of the run ends the
/// wait for the next attempt.
///
/// The journal's history has earlier attempts. Outside of runs there is no execution, and nothing to undo. The body's steps
/// belong to the scope that it receives, which is inside the outer one.
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
  var attempts = await history?.attempts(policy, clock: clock) ?? Attempts(policy, clock: clock)
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
  /// Whether the work is no step, which is stored as a whole, and has steps of its own.
  var isGroup = false

  /// Whether another attempt follows the current one; nil when no earlier run has decided that.
  var continues: Bool? { isGroup ? journal.continues(after: key.attemptCount, at: key) : nil }

  /// Returns the attempts that follow those of earlier runs.
  func attempts(_ policy: RetryPolicy, clock: any Clock<Duration>) async -> Attempts {
    let elapsed = if let limit = policy.maxElapsed { await journal.elapsed(of: limit, at: key) } else { Duration.zero }
    return Attempts(policy, clock: clock, after: key.attemptCount, elapsed: elapsed)
  }

  func attemptFailed(_ error: any Error) {
    if isGroup { journal.attemptFailed(key, error) }
  }

  func decideAgainstAnother() {
    if isGroup { journal.store(decision: key.attemptCount, at: key) }
  }
}
