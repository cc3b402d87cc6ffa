// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The observers and traces of the runs that the current task starts.
struct ObservationScope: Sendable {
  @TaskLocal static var current: ObservationScope?

  /// The observers of scopes, outermost first.
  var observers: [any RunObserver] = []
  var collectors: [RunCollector] = []
  /// Measures the time of traces; nil for the continuous clock.
  var clock: (@Sendable () -> Duration)?
  /// The innermost observed run around.
  var parentID: UInt64?
}

/// Notifies an observer of every run that the body starts, also in tasks that it creates and after it has returned.
///
/// - Parameters:
///   - observer: Receives the events of each run.
///   - isolation: The isolation of the body, by default the caller's.
///   - body: The work to run, on the current task.
/// - Returns: What the body returns.
/// - Throws: Only what the body throws.
public func withRunObserver<Value>(
  _ observer: some RunObserver,
  isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws -> Value
) async rethrows -> Value {
  RunObservers.use()
  var scope = ObservationScope.current ?? ObservationScope()
  scope.observers.append(observer)
  return try await ObservationScope.$current.withValue(scope) { try await body() }
}
