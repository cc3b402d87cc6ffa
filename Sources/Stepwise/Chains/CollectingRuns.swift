// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs a body and reads every run that was started in it, also in tasks that it created, when it returns.
///
/// It retains the first run and the newest ones, counts those that it drops, and retains the newest entries of each.
package func collectingRuns<Value>(
  capacity: Int,
  maxRuns: Int,
  clock: any Clock<Duration>,
  isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> Value
) async -> (result: Result<Value, any Error>, readings: [RunReading], droppedCount: Int) {
  RunObservers.use()
  let collector = RunCollector(capacity: capacity, maxRuns: maxRuns)
  var scope = Scope.current.context?.observation ?? ObservationScope()
  scope.collectors.append(collector)
  let elapsed = stopwatch(on: clock)
  scope.clock = elapsed
  let result = await Result.of { try await Scope.$current.bind(.observed(by: scope), body) }
  let (readings, droppedCount) = collector.take(at: elapsed())
  return (result, readings, droppedCount)
}
