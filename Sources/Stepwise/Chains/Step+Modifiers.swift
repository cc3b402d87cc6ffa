// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Step {
  /// Limits the duration of the step.
  ///
  /// When the time is up, the step is cancelled and awaited, and ``TimeoutError`` is thrown. A value that the step
  /// still returns is its output. A step that ignores cancellation blocks the chain: use
  /// ``abandon(after:clock:discarding:)`` for it.
  ///
  /// - Parameters:
  ///   - duration: The time limit.
  ///   - clock: The clock that measures the time.
  /// - Returns: A new step; this one is unchanged.
  public func timeout(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Step {
    Step(name: name, undo: undo) { input, step in
      try await limited(to: TimeLimit(duration: duration, clock: clock)) {
        step.description
      } operation: {
        try await body(input, step)
      }
    }
  }

  /// Limits the duration of the step, and stops waiting for it when the time is up.
  ///
  /// ``TimeoutError`` is then thrown immediately. The step is cancelled and continues without being awaited.
  ///
  /// - Parameters:
  ///   - duration: The time limit.
  ///   - clock: The clock that measures the time.
  ///   - discard: Receives a value that the abandoned step returns, for example to release a resource.
  /// - Returns: A new step; this one is unchanged.
  public func abandon(
    after duration: Duration,
    clock: any Clock<Duration> = ContinuousClock(),
    discarding discard: nonisolated(nonsending) @escaping @Sendable (Output) async -> Void = { _ in }
  ) -> Step {
    Step(name: name, undo: undo) { input, step in
      try await abandoned(after: TimeLimit(duration: duration, clock: clock)) {
        step.description
      } discarding: { (late: Output) in
        await discard(late)
      } operation: { _ in
        try await body(input, step)
      }.get()
    }
  }

  /// Retries the step when it fails.
  ///
  /// Cancellation is never retried, and ends the delay between attempts immediately.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts and the delay between them.
  ///   - isRetryable: Returns whether to retry after an error; by default every error is retried.
  ///   - clock: The clock that measures the delays.
  /// - Returns: A new step; this one is unchanged. When all attempts fail, it throws the error of the last one.
  public func retry(
    _ policy: RetryPolicy,
    if isRetryable: nonisolated(nonsending) @escaping @Sendable (any Error) async -> Bool = { _ in true },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Step {
    Step(name: name, undo: undo) { input, step in
      var attempts = Attempts(policy, clock: clock)
      while true {
        do {
          return try await body(input, step)
        } catch {
          guard !Task.isCancelled, await attempts.allowAnother(after: error, if: isRetryable) else { throw error }
          Scope.current?.step?.retrying(attempt: attempts.number + 1, after: error)
          guard await attempts.waitForNext() else { throw error }
        }
      }
    }
  }

  /// Replaces an error of the step with a value.
  ///
  /// Cancellation is never replaced.
  ///
  /// - Parameter replacement: Returns the value, or throws a different error.
  /// - Returns: A new step; this one is unchanged.
  public func recover(
    _ replacement: nonisolated(nonsending) @escaping @Sendable (any Error) async throws -> Output
  ) -> Step {
    Step(name: name, undo: undo) { input, step in
      do {
        return try await body(input, step)
      } catch let error where !Task.isCancelled {
        return try await replacement(error)
      }
    }
  }

  /// Runs the step on an executor.
  ///
  /// - Parameter executor: The executor that the step prefers, unless it is isolated to an actor with its own.
  /// - Returns: A new step; this one is unchanged.
  public func executor(_ executor: any TaskExecutor) -> Step {
    Step(name: name, undo: undo) { input, step in
      try await onExecutor(executor) { try await body(input, step) }
    }
  }
}
