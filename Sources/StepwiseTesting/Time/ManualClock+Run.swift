// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension ManualClock {
  /// Runs the body, and advances the time to the next deadline whenever the body has nothing left to do but sleep.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// let value = try await clock.run { try await chain.retry(policy, clock: clock).run(input) }
  /// #expect(clock.now.offset == .seconds(3))
  /// ```
  ///
  /// Suspends until the body returns. The body runs on a separate thread, together with its child tasks, the default
  /// actors that it calls, and the runs that it starts. The time advances only while all of them are suspended, so
  /// sleepers wake in the order of their deadlines. Other work is not waited for: the main actor, other actors with
  /// their own executor, `Task.detached`, files, the network. A body that polls is never suspended, so the time does
  /// not advance; await instead.
  ///
  /// Cancellation reaches the body. The time stops when the body returns, even if tasks still sleep.
  /// - Parameter body: The work.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws.
  public nonisolated(nonsending) func run<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let executor = QuietExecutor()
    return try await withTaskExecutorPreference(executor) { @concurrent in
      try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
          await self.passTime(when: executor)
          return nil
        }
        defer { group.cancelAll() }
        while let value = try await group.next() {
          if let value { return value }
        }
        // The body returns a value or throws before the time stops.
        throw CancellationError()
      }
    }
  }

  /// Advances the time whenever the executor is idle, until the task is cancelled.
  @concurrent
  private func passTime(when executor: QuietExecutor) async {
    while !Task.isCancelled {
      await sleepers(atLeast: 1)
      await executor.quiet()
      if !Task.isCancelled { _ = advanceToNextDeadline() }
    }
  }
}
