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
  try await limited(to: duration, timer: { try await clock.sleep(for: duration) }, step: step, operation: operation)
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
  try await withThrowingTaskGroup(of: TimedEvent<Value>.self) { group in
    group.addTask { .ended(await Result.of(operation)) }
    group.addTask { (try? await timer()) == nil ? .timerStopped : .timeIsUp }
    var late: String?
    while let event = try await group.next() {
      switch event {
      case .ended(let result):
        group.cancelAll()
        guard let late, case .failure(let error) = result else { return try result.get() }
        throw TimeoutError(step: late, duration: duration, underlyingError: error)
      case .timeIsUp:
        late = step()
        group.cancelAll()
      case .timerStopped:
        break
      }
    }
    throw CancellationError()
  }
}

private enum TimedEvent<Value: Sendable>: Sendable {
  case ended(Result<Value, any Error>)
  case timeIsUp
  case timerStopped
}
