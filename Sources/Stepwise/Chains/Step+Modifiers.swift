// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Step {
  /// Limits the time of the step.
  ///
  /// When it is up, the step is cancelled and waited for, and ``TimeoutError`` is thrown. A value that it returns all the
  /// same wins. A step that heeds no cancellation holds up the chain: use ``abandon(after:clock:discarding:)`` for it.
  ///
  /// - Parameters:
  ///   - duration: How long the step may take.
  ///   - clock: What the time is measured on.
  /// - Returns: A new step; this one is unchanged.
  public func timeout(_ duration: Duration, clock: any Clock<Duration> = ContinuousClock()) -> Step {
    Step(name: name) { input, step in
      try await limited(to: duration, clock: clock) {
        step.description
      } operation: {
        try await body(input, step)
      }
    }
  }

  /// Limits the time of the step, and does not wait for it when it is up.
  ///
  /// ``TimeoutError`` is thrown at once then. The step is cancelled and goes on by itself to its end.
  ///
  /// - Parameters:
  ///   - duration: How long the step may take.
  ///   - clock: What the time is measured on.
  ///   - discard: Is given the value that comes out too late, to release what it holds.
  /// - Returns: A new step; this one is unchanged.
  public func abandon(
    after duration: Duration,
    clock: any Clock<Duration> = ContinuousClock(),
    discarding discard: nonisolated(nonsending) @escaping @Sendable (Output) async -> Void = { _ in }
  ) -> Step {
    Step(name: name) { input, step in
      try await abandoned(after: duration, clock: clock) {
        step.description
      } discarding: { (late: Output) in
        await discard(late)
      } operation: { _ in
        try await body(input, step)
      }
    }
  }

  /// Runs the step again when it fails.
  ///
  /// Cancellation is never retried, and ends the wait between attempts at once.
  ///
  /// - Parameters:
  ///   - policy: How often, and how soon.
  ///   - isRetryable: Whether an error is worth another attempt; every error is unless told otherwise.
  ///   - clock: What the waits are measured on.
  /// - Returns: A new step; this one is unchanged. When all attempts fail, its error is that of the last.
  public func retry(
    _ policy: RetryPolicy,
    if isRetryable: nonisolated(nonsending) @escaping @Sendable (any Error) async -> Bool = { _ in true },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Step {
    Step(name: name) { input, step in
      var attempts = Attempts(policy, clock: clock)
      while true {
        do {
          return try await body(input, step)
        } catch {
          guard !Task.isCancelled, await attempts.allowAnother(after: error, if: isRetryable) else { throw error }
          StepContext.current?.retrying(attempt: attempts.number + 1)
          guard await attempts.waitForNext() else { throw error }
        }
      }
    }
  }

  /// Replaces an error of the step with a value.
  ///
  /// Cancellation is never replaced.
  ///
  /// - Parameter replacement: Gives the value, or throws, which replaces the error with another.
  /// - Returns: A new step; this one is unchanged.
  public func recover(
    _ replacement: nonisolated(nonsending) @escaping @Sendable (any Error) async throws -> Output
  ) -> Step {
    Step(name: name) { input, step in
      do {
        return try await body(input, step)
      } catch let error where !Task.isCancelled {
        return try await replacement(error)
      }
    }
  }

  /// Runs the step on an executor.
  ///
  /// - Parameter executor: The executor that the step prefers unless it is bound to an actor with its own.
  /// - Returns: A new step; this one is unchanged.
  public func executor(_ executor: any TaskExecutor) -> Step {
    Step(name: name) { input, step in
      try await onExecutor(executor) { try await body(input, step) }
    }
  }
}
