// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs an operation, cancels it when its time is up, and waits for its end.
///
/// A value that the operation returns wins, also when it met the timer. The timer decides that it was the one before it
/// cancels, so that whatever the operation throws then is a timeout, and no timeout within is taken for this one.
///
/// - Throws: what the operation throws, or `TimeoutError` when its time was up.
func limited<Value: Sendable>(
  to duration: Duration,
  clock: any Clock<Duration>,
  step: @escaping @Sendable () -> String,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  try await limited(
    to: duration,
    timer: { try await clock.sleep(for: duration.clamped) },
    step: step,
    operation: operation
  )
}

/// Does the same by a timer that may have begun before.
///
/// - Throws: what the operation throws, or `TimeoutError` when its time was up.
func limited<Value: Sendable>(
  to duration: Duration,
  timer: @escaping @Sendable () async throws -> Void,
  step: @escaping @Sendable () -> String,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  // Tasks of its own, not a group, which would wait for a clock that ignores cancellation.
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
    work.cancel()
  }
  guard case .late? = verdict.settled, case .failure(let error) = result else { return try result.get() }
  throw TimeoutError(step: await late.valueIgnoringCancellation(), duration: duration, underlyingError: error)
}

/// Which came first: the end of the operation, or that of its time.
private enum Verdict: Sendable {
  case inTime, late
}
