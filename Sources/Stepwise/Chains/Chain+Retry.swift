// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Retries the previous steps, from the first one, when one of them fails.
  ///
  /// What a failed attempt completed is undone before the next one. Cancellation is never retried, and ends the delay
  /// between attempts immediately.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts and the delay between them.
  ///   - isRetryable: Returns whether to retry after an error; by default every error is retried.
  ///   - clock: The clock that measures the delays.
  /// - Returns: A new chain; this one is unchanged. When all attempts fail, it throws the error of the last one.
  public nonisolated func retry(
    _ policy: RetryPolicy,
    if isRetryable: nonisolated(nonsending) @escaping @Sendable (any Error) async -> Bool = { _ in true },
    clock: any Clock<Duration> = ContinuousClock()
  ) -> Chain {
    let code: StepCode = { frame in
      let input: Input = frame.slot.take()
      let part = frame.covered
      var attempts = Attempts(policy, clock: clock)
      while true {
        do {
          frame.slot.put(input)
          return try await frame.perform(part: part)
        } catch {
          guard !frame.execution.isCancellationRequested, await attempts.allowAnother(after: error, if: isRetryable)
          else { throw error }
          await frame.undoAll()
          let step = frame.execution.currentStep.index
          frame.recording?.retrying(step: step, attempt: attempts.number + 1, after: error)
          guard await attempts.waitForNext(by: frame.execution.wait), !frame.execution.isCancellationRequested else {
            throw error
          }
        }
      }
    }
    return Chain(path.appending(.enclosing(how: "retry up to \(policy.maxAttempts) attempts", code)))
  }
}
