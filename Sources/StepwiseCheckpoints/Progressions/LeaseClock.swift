// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The clock by which the holder of a lease renews it; times are distances from an origin.
struct LeaseClock: Sendable {
  let now: @Sendable () -> Duration
  let sleep: @Sendable (_ end: Duration) async throws -> Void

  init<C: Clock<Duration>>(_ clock: C) {
    let origin = clock.now
    now = { origin.duration(to: clock.now) }
    sleep = { end in try await clock.sleep(until: origin.advanced(by: end), tolerance: nil) }
  }
}
