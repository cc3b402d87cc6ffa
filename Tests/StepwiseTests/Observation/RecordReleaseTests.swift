// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
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
}
