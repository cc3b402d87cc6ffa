// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Durations that no clock can add to its time: they are as good as for ever, or as none.
@Suite(.timeLimit(.minutes(5)))
struct LongDurationTests {
  private static let durations: [Duration] = [
    .seconds(Int64.max), .seconds(Int64.max) * 18, .seconds(3_155_760_000), .nanoseconds(Int64.max),
  ]
  private static let clocks: [any Clock<Duration>] = [ContinuousClock(), SuspendingClock(), ManualClock()]

  private let step = Step { (number: Int) async in
    await Task.yield()
    return number
  }

  // G69
  @Test(arguments: durations, clocks)
  func `An endless limit limits nothing`(duration: Duration, clock: any Clock<Duration>) async throws {
    #expect(try await Chain(step.timeout(duration, clock: clock)).run(1) == 1)
    #expect(try await Chain(step).timeout(duration, clock: clock).run(3) == 3)
    #expect(try await Chain(step).abandon(after: duration, clock: clock).run(4) == 4)
  }

  @Test(arguments: durations) func `A long duration has a description`(duration: Duration) {
    #expect(duration.spoken.contains("seconds"))
  }

  @Test(arguments: durations, clocks)
  func `An endless backoff ends with the cancel`(duration: Duration, clock: any Clock<Duration>) async {
    let policies = [
      RetryPolicy(maxAttempts: 2, backoff: .constant(duration)),
      RetryPolicy(maxAttempts: 2, backoff: .constant(duration), maxElapsed: .seconds(Int64.max) * 18),
      RetryPolicy(
        maxAttempts: 2,
        backoff: .exponential(from: duration, factor: .infinity, cap: duration, jitter: .none)
      ),
    ]
    for policy in policies {
      let failed = Once<Void>()
      let body = Step { (number: Int) -> Int in throw Fault(number) }
      let chains = [
        Chain(body).retry(policy, if: { _ in failed.settle(()) || true }, clock: clock),
        Chain(body.retry(policy, if: { _ in failed.settle(()) || true }, clock: clock)),
      ]
      for chain in chains {
        let run = chain.start(1)
        _ = await failed.value()
        run.cancel(reason: "enough")
        #expect(await run.outcome.cancellation?.reason == "enough")
      }
    }
  }

  // G69
  @Test(arguments: [Duration.seconds(Int64.min), .seconds(Int64.min) * 18, .zero], clocks)
  func `A negative limit is up immediately`(duration: Duration, clock: any Clock<Duration>) async throws {
    let waiting = Step { (_: Int) async throws -> Int in
      _ = await Once<Void>().value()
      throw CancellationError()
    }
    for chain in [
      Chain(waiting.timeout(duration, clock: clock)), Chain(waiting).abandon(after: duration, clock: clock),
    ] {
      await #expect(throws: TimeoutError.self) { try await chain.run(1) }
    }
    let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(duration))
    await #expect(throws: Fault(1)) {
      try await Chain { (number: Int) -> Int in throw Fault(number) }.retry(policy, clock: clock).run(1)
    }
  }

  @Test(arguments: durations) func `A job may have endless limits`(duration: Duration) async throws {
    let job = Job("work") { (number: Int) in number }.timeout(duration).deadline(duration)
    #expect(try await job.launch(1, on: JobQueue(maxConcurrent: 1)).value == 1)
  }
}
