// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StartCancelledByTests {
  private let clock = ManualClock()

  private var waiting: Chain<Int, Int> {
    Chain { [clock] (number: Int) in
      try await clock.sleep(for: .seconds(60))
      return number
    }
  }

  // G80
  @Test
  func `A token cancels exactly the runs that were started with it`() async {
    let (token, chain) = (CancellationToken(), waiting)
    let (first, second, other) = (
      chain.start(1, cancelledBy: token), chain.start(2, cancelledBy: token), chain.start(3)
    )
    await clock.sleepers(atLeast: 3)
    token.cancel(reason: "left")
    for run in [first, second] {
      guard case .cancelled(let cancellation) = await run.outcome else {
        Issue.record("not cancelled")
        continue
      }
      #expect(cancellation.reason == "left")
    }
    clock.advance(by: .seconds(60))
    await #expect(throws: Never.self) { try await other.value }
  }

  @Test
  func `A run started with a cancelled token calls only finally`() async {
    let token = CancellationToken()
    token.cancel()
    let log = Recorder<String>()
    let run = Chain { log.record("step") }.finally { _ in log.record("finally") }.start(cancelledBy: token)
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(log.elements == ["finally"])
  }
}
