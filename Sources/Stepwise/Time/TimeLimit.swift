// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs an operation, cancels it when its time is up, and waits until it ends.
///
/// A value that the operation returns wins, even against the timer. The timer claims its verdict before it cancels, so
/// that every error that the operation throws afterwards counts as this timeout, and no inner timeout is mistaken for
/// it.
///
/// - Throws: The error of the operation; `TimeoutError` when its time was up.
func limited<Value: Sendable>(
  to duration: Duration,
  clock: any Clock<Duration>,
  onCancel: @escaping @Sendable () -> Void = {},
  step: @escaping @Sendable () -> String,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await limited(
    to: duration,
    timer: { try await clock.sleep(for: duration.clamped) },
    onCancel: onCancel,
    step: step,
    operation: operation
  )
}

/// Runs an operation under a timer that may already have started.
///
/// When the calling Task is cancelled, `onCancel` is called before the operation is cancelled.
///
/// - Throws: The error of the operation; `TimeoutError` when its time was up.
func limited<Value: Sendable>(
  to duration: Duration,
  timer: @escaping @Sendable () async throws -> Void,
  onCancel: @escaping @Sendable () -> Void = {},
  step: @escaping @Sendable () -> String,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  // Separate tasks instead of a group, which would wait for a clock that ignores cancellation.
  let verdict = Once<Verdict>()
  let late = Once<String>()
  let awaited = AwaitedTask.make()
  let work = spawn {
    let result = await awaited.run { await Result.of(operation) }
    verdict.settle(.inTime)
    return result
  }
  let timer = spawn {
    guard (try? await timer()) != nil, verdict.settle(.late) else { return }
    late.settle(step())
    work.cancel()
  }
  defer { timer.cancel() }
  let result = await withTaskCancellationHandler {
    await work.value
  } onCancel: {
    onCancel()
    work.cancel()
  }
  guard case .late? = verdict.settled, case .failure(let error) = result else { return try result.get() }
  throw TimeoutError(step: await late.valueIgnoringCancellation(), duration: duration, underlyingError: error)
}

/// Which came first: the end of the operation, or the timer.
private enum Verdict: Sendable {
  case inTime, late
}
