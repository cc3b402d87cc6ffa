// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  public import StepwiseFleet

  extension Fleet {
    /// Runs the body of a test while a worker runs the fleet's jobs, and then lets the worker drain.
    ///
    /// ```swift
    /// let receipt = try await clock.run {
    ///   try await fleet.withWorker {
    ///     try await fleet.enqueue(order, cart, id: "order-7")
    ///     return try await fleet.result(of: "order-7", as: order)
    ///   }
    /// }
    /// ```
    ///
    /// Suspends until the worker has drained.
    ///
    /// - Parameters:
    ///   - onEvent: Called with each event of the worker, from any thread and concurrently.
    ///   - body: The body.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; what `work(until:onEvent:)` throws.
    @concurrent public func withWorker<Value: Sendable>(
      onEvent: @escaping @Sendable (FleetEvent) -> Void = { _ in },
      _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
      try await StepwiseFleetTesting.withWorker(until: { try await self.work(until: $0, onEvent: onEvent) }, body)
    }
  }

  /// Runs a body while a worker runs, and then drains the worker with its token.
  func withWorker<Value: Sendable>(
    until work: @escaping @Sendable (_ token: CancellationToken) async throws -> Void,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let token = CancellationToken()
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      defer { token.cancel() }
      group.addTask {
        try await work(token)
        return nil
      }
      // If the worker fails, the body waits in vain: it is cancelled.
      group.addTask { try await body() }
      var value: Value?
      while let next = try await group.next() {
        guard let next else { continue }
        value = next
        token.cancel()
      }
      guard let value else { throw CancellationError() }
      return value
    }
  }
#endif
