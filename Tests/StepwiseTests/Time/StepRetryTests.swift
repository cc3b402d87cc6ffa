// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct StepRetryTests {
  private let clock = ManualClock()
  private let calls = Recorder<Duration>()

  private func failing(until success: Int = .max) -> Step<Int, Int> {
    Step("flaky") { [calls, clock] number in
      calls.record(clock.now.offset)
      if calls.elements.count < success { throw Fault(calls.elements.count) }
      return number
    }
  }

  @Test func `Delays are exactly those of the backoff`() async throws {
    let policy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .milliseconds(100), jitter: .none))
    let run = Chain(failing(until: 5).retry(policy, clock: clock)).start(7)
    for wait in [100, 200, 400, 800] {
      await clock.sleepers(atLeast: 1)
      #expect(clock.nextDeadline == clock.now.advanced(by: .milliseconds(wait)))
      clock.advance(by: .milliseconds(wait))
    }
    #expect(try await run.value == 7)
    #expect(calls.elements == [0, 100, 300, 700, 1_500].map { .milliseconds($0) })
  }

  @Test func `The last error is thrown as it is`() async {
    let chain = Chain(failing().retry(RetryPolicy(maxAttempts: 3, backoff: .none), clock: clock))
    await #expect(throws: Fault(3)) { try await chain.run(1) }
  }

  @Test func `No attempt begins after maxElapsed`() throws {
    let policy = RetryPolicy(maxAttempts: 100, backoff: .constant(.seconds(10)), maxElapsed: .seconds(30))
    let chain = Chain(failing().retry(policy, clock: clock))
    #expect(throws: Fault(4)) { try SeededExecutor(seed: 1, clock: clock).run { try await chain.run(1) } }
    #expect(calls.elements == [0, 10, 20, 30].map { .seconds($0) })
    #expect(clock.now.offset == .seconds(30), "it does not wait for an attempt that is not to be")
  }

  // G64
  @Test func `Elapsed time includes the attempts`() throws {
    let policy = RetryPolicy(maxAttempts: 100, backoff: .constant(.seconds(1)), maxElapsed: .seconds(10))
    let step = Step<Int, Int> { [calls, clock] _ in
      calls.record(clock.now.offset)
      try await clock.sleep(for: .seconds(4))
      throw Fault(calls.elements.count)
    }
    let chain = Chain(step.retry(policy, clock: clock))
    #expect(throws: Fault(3)) { try SeededExecutor(seed: 1, clock: clock).run { try await chain.run(1) } }
    #expect(calls.elements == [0, 5, 10].map { .seconds($0) })
  }

  @Test func `Only errors that the predicate accepts are retried`() async {
    let judged = Recorder<Int>()
    let chain = Chain(
      failing().retry(RetryPolicy(maxAttempts: 9, backoff: .none)) { error in
        judged.record((error as? Fault)?.number ?? 0)
        return error as? Fault != Fault(3)
      }
    )
    await #expect(throws: Fault(3)) { try await chain.run(1) }
    #expect(judged.elements == [1, 2, 3])
  }

  @Test func `The predicate is not called after the last attempt`() async {
    let judged = Recorder<Bool>()
    let policy = RetryPolicy(maxAttempts: 2, backoff: .none)
    let chain = Chain(
      failing().retry(policy) { _ in
        judged.record(true)
        return true
      }
    )
    await #expect(throws: Fault(2)) { try await chain.run(1) }
    #expect(judged.elements.count == 1)
  }

  // G62
  @Test func `Cancellation ends a backoff immediately`() async {
    let run = Chain(failing().retry(RetryPolicy(maxAttempts: 9, backoff: .constant(.seconds(60))), clock: clock)).start(
      1
    )
    await clock.sleepers(atLeast: 1)
    #expect(run.cancel(reason: "left"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "left")
    #expect(cancellation.underlyingError as? Fault == Fault(1))
    #expect(clock.now.offset == .zero && clock.sleeperCount == 0)
    #expect(calls.elements.count == 1)
  }

  /// Whatever the seed, a cancel that meets the end of a wait ends the run, and no attempt follows it.
  @Test func `No attempt follows a cancel at the end of a delay`() throws {
    var counts: Set<Int> = []
    for seed in seeds() {
      let clock = ManualClock()
      let attempts = Recorder<Bool>()
      let outcome = try SeededExecutor(seed: seed, clock: clock).run {
        let cancelled = Once<Void>()
        let step = Step<Int, Int> { _ in
          attempts.record(cancelled.settled != nil)
          throw Fault(1)
        }
        let run = Chain(step.retry(RetryPolicy(maxAttempts: 5, backoff: .constant(.seconds(1))), clock: clock)).start(1)
        await withTaskGroup(of: Void.self) { group in
          group.addTask {
            try? await clock.sleep(for: .seconds(2))
            if run.cancel() { cancelled.settle(()) }
          }
        }
        return await run.outcome
      }
      guard case .cancelled = outcome else {
        Issue.record("seed \(seed): \(outcome)")
        continue
      }
      #expect(!attempts.elements.contains(true), "seed \(seed): an attempt after the cancel")
      counts.insert(attempts.elements.count)
    }
    #expect(counts == [2, 3], "both orders were met")
  }

  @Test func `Events report further attempts`() async throws {
    let run = Chain(failing(until: 3).retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1))), clock: clock))
      .start(1)
    let lines = Recorder<String>()
    let watcher = Task { for await event in run.events { lines.record(event.line) } }
    for count in [3, 4] {
      await clock.sleepers(atLeast: 1)
      await lines.elements(atLeast: count)
      clock.advance(by: .seconds(1))
    }
    await watcher.value
    #expect(
      lines.elements == [
        "started", "flaky started", "flaky retrying 2", "flaky retrying 3", "flaky finished", "ended resolved",
      ]
    )
    #expect(try await run.value == 1)
  }
}
