// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension ManualClock {
  /// Runs the body, and moves the time on to the next deadline each time the body has nothing left to do but sleep.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// let value = try await clock.run { try await chain.retry(policy, clock: clock).run(input) }
  /// #expect(clock.now.offset == .seconds(3))
  /// ```
  ///
  /// Suspends until the body returns. The body runs on a thread of its own, together with its child tasks, with default
  /// actors that it calls, and with the runs that it starts; the time passes only when all of them are suspended, so that
  /// sleepers wake in the order of their deadlines. Work elsewhere is not waited for: the main actor, other actors with an
  /// executor of their own, `Task.detached`, files, the network. A body that polls is never suspended, and the time stands
  /// still; await instead.
  ///
  /// Cancellation reaches the body. The time stops when the body returns, whatever still sleeps.
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

  /// Moves the time on, each time nothing else happens on the executor, until the task is cancelled.
  @concurrent
  private func passTime(when executor: QuietExecutor) async {
    while !Task.isCancelled {
      await sleepers(atLeast: 1)
      await executor.quiet()
      if !Task.isCancelled { _ = advanceToNextDeadline() }
    }
  }
}
