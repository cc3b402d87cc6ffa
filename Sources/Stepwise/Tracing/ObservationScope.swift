// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The observers and traces of the runs that the current task starts.
struct ObservationScope: Sendable {
  @TaskLocal static var current: ObservationScope?

  /// The observers of scopes, outermost first.
  var observers: [any RunObserver] = []
  var collectors: [TraceCollector] = []
  /// Measures the time of traces; nil for the continuous clock.
  var clock: (@Sendable () -> Duration)?
  /// The innermost observed run around.
  var parentID: UInt64?
}
