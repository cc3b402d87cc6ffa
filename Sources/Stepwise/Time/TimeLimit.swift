// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How long something may take, by which clock.
struct TimeLimit: Sendable {
  let duration: Duration
  let clock: any Clock<Duration>

  func sleep() async throws { try await clock.sleep(for: duration.clamped) }

  /// Starts the time now.
  ///
  /// - Returns: Waits for its end.
  func start() -> @Sendable () async throws -> Void { Self.timer(for: duration, on: clock) }

  private static func timer<C: Clock<Duration>>(
    for duration: Duration,
    on clock: C
  ) -> @Sendable () async throws -> Void {
    let end = clock.now.advanced(by: duration.clamped)
    return { try await clock.sleep(until: end, tolerance: nil) }
  }
}

/// Runs an operation, cancels it when its time is up, and waits until it ends.
///
/// A value that the operation returns wins, even against the timer. The timer claims its verdict before it cancels, so
/// that every error that the operation throws afterwards counts as this timeout, and no inner timeout is mistaken for
/// it.
///
/// - Parameters:
///   - limit: The time limit.
///   - wait: Waits for the end of a time that has already started; nil to start it now.
///   - onCancel: Called when the calling task is cancelled, before the operation is.
///   - step: Returns what is running, for the error.
///   - operation: The work, in its own task.
/// - Returns: What the operation returns.
/// - Throws: The error of the operation; `TimeoutError` when its time was up.
func limited<Value: Sendable>(
  to limit: TimeLimit,
  timer wait: (@Sendable () async throws -> Void)? = nil,
  onCancel: @escaping @Sendable () -> Void = {},
  step: @escaping @Sendable () -> String,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  // Separate tasks instead of a group, which would wait for a clock that ignores cancellation.
  let race = TimerRace()
  let awaited = AwaitedTask.make()
  let work = spawn { () async throws -> Value in
    defer { race.end() }
    return try await awaited.run { try await operation() }
  }
  let timer = spawn { () async throws -> Void in
    if let wait { try await wait() } else { try await limit.sleep() }
    guard race.expire() else { return }
    race.name(step())
    work.cancel()
  }
  defer { timer.cancel() }
  let result = await withTaskCancellationHandler {
    await work.result
  } onCancel: {
    onCancel()
    work.cancel()
  }
  guard race.isLost, case .failure(let error) = result else { return try result.get() }
  throw TimeoutError(step: race.step ?? step(), duration: limit.duration, underlyingError: error)
}

/// Which comes first: the end of an operation, or its timer.
private final class TimerRace: Sendable {
  private enum State {
    case running, won
    /// The timer came first; then it looks which step is running.
    case lost(step: String?)
  }

  private let state = Lock(State.running)

  /// The operation has ended.
  func end() {
    state.withLock { state in
      if case .running = state { state = .won }
    }
  }

  /// The timer has fired; returns whether it came first.
  func expire() -> Bool {
    state.withLock { state in
      guard case .running = state else { return false }
      state = .lost(step: nil)
      return true
    }
  }

  func name(_ step: String) { state.withLock { $0 = .lost(step: step) } }

  var isLost: Bool { state.withLock { if case .lost = $0 { true } else { false } } }
  var step: String? { state.withLock { if case .lost(let step) = $0 { step } else { nil } } }
}
