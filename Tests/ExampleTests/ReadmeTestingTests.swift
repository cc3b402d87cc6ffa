// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ReadmeTestingTests {
  @Test func `The second attempt comes after a minute`() async throws {
    let clock = ManualClock()
    let attempts = Recorder<Int>()
    let chain = Chain { (number: Int) in
      attempts.record(number)
      if attempts.elements.count == 1 { throw Failure("busy") }
      return number
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(60))), clock: clock)

    let run = chain.start(7)
    await clock.sleepers(atLeast: 1)
    #expect(attempts.elements == [7])

    clock.advance(by: .seconds(60))
    #expect(try await run.value == 7)
    #expect(attempts.elements == [7, 7])
  }

  @Test func `Virtual time passes while the body sleeps`() async throws {
    let clock = ManualClock()
    let chain = Chain { (number: Int) in
      try await clock.sleep(for: .seconds(60))
      return number
    }
    #expect(try await clock.run { try await chain.run(7) } == 7)
    #expect(clock.now.offset == .seconds(60))
  }

  @Test func `A run retains nothing after its end`() async throws {
    let tracker = LifetimeTracker()
    do {
      let chain = Chain { [object = tracker.track()] (number: Int) in
        withExtendedLifetime(object) { number + 1 }
      }
      #expect(try await chain.run(1) == 2)
    }
    await tracker.allReleased()
    #expect(tracker.alive == 0)
  }
}
