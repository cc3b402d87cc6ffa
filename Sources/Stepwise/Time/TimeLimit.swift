// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How long something may take, by which clock.
struct TimeLimit: Sendable {
  let duration: Duration
  let clock: any Clock<Duration>
  /// Waits for the end of a time that has already started.
  private var remainder: (@Sendable () async throws -> Void)?

  init(duration: Duration, clock: any Clock<Duration>) {
    self.duration = duration
    self.clock = clock
  }

  /// Returns the limit with a time that starts now instead of with the wait.
  func started() -> TimeLimit {
    var limit = self
    limit.remainder = Self.remainder(of: duration, on: clock)
    return limit
  }

  private static func remainder<C: Clock<Duration>>(
    of duration: Duration,
    on clock: C
  ) -> @Sendable () async throws -> Void {
    let end = clock.now.advanced(by: duration.clamped)
    return { try await clock.sleep(until: end, tolerance: nil) }
  }

  /// Waits for the end of the time.
  func sleep() async throws {
    if let remainder { try await remainder() } else { try await clock.sleep(for: duration.clamped) }
  }
}

/// Runs an operation, cancels it when its time is up, and waits until it ends.
///
/// A value that the operation returns wins, even against the timer. The timer claims its verdict before it cancels, so
/// that every error that the operation throws afterwards counts as this timeout, and no inner timeout is mistaken for
/// it.
///
/// When the calling task is cancelled, `onCancel` is called before the operation is cancelled.
///
/// - Throws: The error of the operation; `TimeoutError` when its time was up.
func limited<Value: Sendable>(
  to limit: TimeLimit,
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
    try await limit.sleep()
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
