// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a body returned or threw, and the trace of the runs that it started.
public struct TracedResult<Value> {
  /// What the body returned or threw.
  public let result: Result<Value, any Error>

  /// What ran, up to the end of the body.
  public let trace: RunTrace

  /// What the body returned.
  ///
  /// - Throws: What the body threw.
  public var value: Value { get throws { try result.get() } }
}

extension TracedResult: Sendable where Value: Sendable {}

/// Traces every run that the body starts, also in tasks that it creates.
///
/// The result has the trace also when the body throws. A run that has not ended when the body returns is part of the
/// trace with the status ``RunTrace/Status/running``.
///
/// ```swift
/// let traced = await trace { try await checkout.run(cart) }
/// print(traced.trace.text)
/// let order = try traced.value
/// ```
///
/// - Parameters:
///   - capacity: The number of events of each run that are retained; of at most 256 runs: the first and the newest.
///   - clock: The clock that measures the times, for example the manual clock of a test.
///   - isolation: The isolation of the body, by default the caller's.
///   - body: The work to run, on the current task.
/// - Returns: What the body returned or threw, and the trace.
public func trace<Value>(
  capacity: Int = 4_096,
  clock: any Clock<Duration> = ContinuousClock(),
  isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> Value
) async -> TracedResult<Value> {
  RunObservers.use()
  let collector = TraceCollector(capacity: capacity, maxRuns: 256)
  var scope = ObservationScope.current ?? ObservationScope()
  scope.collectors.append(collector)
  let elapsed: @Sendable () -> Duration
  if clock is ContinuousClock {
    scope.clock = nil
    elapsed = { RunLog.time(of: .now) }
  } else {
    elapsed = stopwatch(on: clock)
    scope.clock = elapsed
  }
  let result: Result<Value, any Error>
  do {
    result = .success(try await ObservationScope.$current.withValue(scope) { try await body() })
  } catch {
    result = .failure(error)
  }
  return TracedResult(result: result, trace: collector.take(at: elapsed()))
}

private func stopwatch<C: Clock<Duration>>(on clock: C) -> @Sendable () -> Duration {
  let start = clock.now
  return { start.duration(to: clock.now) }
}
