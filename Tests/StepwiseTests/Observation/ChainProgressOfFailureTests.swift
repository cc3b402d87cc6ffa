// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A step that has failed is not a part of the work that is done.
@Suite(.timeLimit(.minutes(5))) struct ChainProgressOfFailureTests {
  private struct Trouble: Error {}

  private func fraction<Output>(of run: Run<Output>) async -> Double? {
    for await progress in run.progress { return progress.fractionCompleted }
    return nil
  }

  @Test func `Progress counts no failed step`() async {
    let run = Chain { (number: Int) in number }
      .then { _ -> Int in throw Trouble() }
      .then { $0 }
      .then { $0 }
      .start(1)
    _ = await run.outcome
    #expect(await fraction(of: run) == 0.25)
  }

  @Test func `Progress keeps what a step reported before it failed`() async {
    let run = Chain { (_: Int) -> Int in
      StepProgress.report(0.5)
      throw Trouble()
    }
    .then { $0 }
    .start(1)
    _ = await run.outcome
    #expect(await fraction(of: run) == 0.25)
  }

  @Test func `Progress leaves room for the next attempt`() async throws {
    let attempts = Recorder<Int>()
    let (gate, opening) = AsyncStream.makeStream(of: Void.self)
    let run = Chain { (number: Int) -> Int in
      attempts.record(attempts.elements.count + 1)
      guard attempts.elements.count > 1 else { throw Trouble() }
      StepProgress.report(0.5)
      attempts.record(3)
      for await _ in gate {}
      return number
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    .then { $0 }
    .start(1)
    await attempts.elements(atLeast: 3)
    #expect(await fraction(of: run) == 0.25)
    opening.finish()
    #expect(try await run.value == 1)
    #expect(await fraction(of: run) == 1)
  }
}
