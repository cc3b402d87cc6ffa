// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import StepwiseTracing
import Testing

/// Users' objects are never released under a lock, because their `deinit` may use the same run.
@Suite(.timeLimit(.minutes(5)))
struct RecordReleaseTests {
  /// An error, or a stage, whose end does something.
  private final class Farewell: Error, Sendable {
    let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
  }

  @Test func `An error may inspect the run while it is released`() async {
    let handle = Watched<Run<Int>?>(nil)
    let seen = Recorder<String>()
    let attempts = Recorder<Int>()
    let run = Chain { () -> Int in
      await handle.wait { $0 != nil }
      throw Farewell {
        _ = handle.read { $0 }?.progress.makeAsyncIterator()
        seen.record("gone")
      }
    }
    .recover { _ in 0 }
    .then { number in
      attempts.record(number)
      if attempts.elements.count == 1 { throw Fault(1) }
      return number
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    .start()
    handle.mutate { $0 = run }
    #expect(await run.outcome.brief == "resolved 0")
    await seen.elements(atLeast: 1)
    handle.mutate { $0 = nil }
  }

  private struct Observer: RunObserver {
    let object: LifetimeTracker.Tracked
  }

  // G260
  @Test(arguments: [false, true]) func `A started run that others observe is released`(isTraced: Bool) async throws {
    let tracker = LifetimeTracker()
    func runAll() async throws {
      for isIgnored in [false, true] {
        let chain = Chain { (number: Int) in number }.observed(by: Observer(object: tracker.track()))
        let run = chain.start(1)
        if !isIgnored { #expect(try await run.value == 1) }
        await chain.waitUntilIdle()
      }
    }
    if isTraced { _ = try await trace { try await runAll() }.value } else { try await runAll() }
    await tracker.allReleased()
    #expect(tracker.alive == 0)
  }
}
