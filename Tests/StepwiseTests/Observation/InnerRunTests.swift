// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A chain that is run in a step, and not appended as one, has progress of its own.
@Suite(.timeLimit(.minutes(5)))
struct InnerRunTests {
  @Test(arguments: [false, true]) func `Progress of an inner run is not that of the step`(takesToken: Bool) async {
    let attempts = Recorder<Int>()
    let inner = Chain(
      Step { (number: Int) in
        attempts.record(number)
        StepProgress.report(0.9)
        if attempts.elements.count == 1 { throw Fault(1) }
        return number
      }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    )
    if takesToken { _ = inner.cancellationToken }
    let run = Chain("outer") { (number: Int) in
      StepProgress.report(0.25)
      return try await inner.run(number)
    }
    .start(1)
    let events = await briefEvents(of: run)
    #expect(events.filter { $0.hasPrefix("retry") || $0.hasSuffix("0.9") }.isEmpty, "\(events)")
    #expect(events.last == "resolved 1")
    #expect(attempts.elements == [1, 1])
  }
}
