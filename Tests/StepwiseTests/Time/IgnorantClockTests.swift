// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A clock whose `sleep` ignores cancellation holds up nothing.
@Suite(.timeLimit(.minutes(5)))
struct IgnorantClockTests {
  /// Sleeps until it is woken.
  private struct IgnorantClock: Clock {
    typealias Instant = ContinuousClock.Instant
    let woken = Turnstile()
    var now: Instant { .now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws { await woken.passWhateverHappens() }
  }

  @Test func `A timeout ends with its work`() throws {
    let clock = IgnorantClock()
    let values = try SeededExecutor(seed: 1).run {
      let limited = try await Chain { 1 }.timeout(.seconds(5), clock: clock).run()
      let step = try await Chain(Step { () in 2 }.timeout(.seconds(5), clock: clock)).run()
      let abandoned = try await Chain { 3 }.abandon(after: .seconds(5), clock: clock).run()
      clock.woken.open()
      return [limited, step, abandoned]
    }
    #expect(values == [1, 2, 3])
  }
}
