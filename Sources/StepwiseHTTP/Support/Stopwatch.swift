// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Measures time from one instant of any clock.
struct Stopwatch: Sendable {
  /// Returns the elapsed time.
  let elapsed: @Sendable () -> Duration
  /// Sleeps until the given time has elapsed since the start.
  let sleep: @Sendable (_ until: Duration) async throws -> Void

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
  }
}
