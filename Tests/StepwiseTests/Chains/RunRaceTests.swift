// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Token, handle, task, timer, gate and step result in the interleavings of a thousand seeds.
@Suite(.timeLimit(.minutes(5)))
struct RunRaceTests {
  @Test func `No interleaving ends a run twice or loses a cancel`() throws {
    var seen: Set<String> = []
    for seed in 0..<1_000 as Range<UInt64> {
      let clock = ManualClock()
      let ends = Recorder<String>()
      let granted = Recorder<String>()
      let executor = SeededExecutor(seed: seed, clock: clock)
      let outcome = try executor.run {
        let chain = Chain("work") { (seconds: Int) in
          try await clock.sleep(for: .seconds(seconds))
          return seconds
        }
        .then { $0 }
        .timeout(.seconds(3), clock: clock)
        .overlap(.serial)
        .finally { state in ends.record(state.kind) }
        let token = CancellationToken()
        let first = chain.start(2)
        let (run, task) = await started(chain, seconds: 3, under: token)
        await withTaskGroup(of: Void.self) { group in
          group.addTask {
            try? await clock.sleep(for: .seconds(5))
            if run.cancel(reason: "handle") { granted.record("handle") }
          }
          group.addTask {
            try? await clock.sleep(for: .seconds(5))
            token.cancel(reason: "token")
          }
          group.addTask {
            try? await clock.sleep(for: .seconds(seed.isMultiple(of: 3) ? 1 : 5))
            chain.cancelRuns(reason: "chain")
          }
        }
        _ = await first.outcome
        task.cancel()
        let outcome = await run.outcome
        #expect(!run.cancel(reason: "late"), "seed \(seed)")
        return outcome
      }
      // Cancelled while it waits for the first run, the second one calls no handler.
      #expect(ends.elements.count == (seed.isMultiple(of: 3) ? 1 : 2), "seed \(seed): \(ends.elements)")
      #expect(ends.elements.last == outcome.kind, "seed \(seed)")
      #expect(granted.elements.count <= 1)
      if granted.elements == ["handle"], case .cancelled(let cancellation) = outcome {
        #expect(cancellation.reason == "handle", "seed \(seed): the first reason wins")
      }
      seen.insert(outcome.kind)
    }
    #expect(seen == ["resolved", "timed out", "cancelled handle", "cancelled token", "cancelled chain"])
  }

  private func started(
    _ chain: Chain<Int, Int>,
    seconds: Int,
    under token: CancellationToken
  ) async -> (Run<Int>, Task<Void?, Never>) {
    let runs = Once<Run<Int>>()
    let task = spawn {
      try? await withCancellation(by: token) { _ = runs.settle(chain.start(seconds)) }
    }
    return (await runs.valueIgnoringCancellation(), task)
  }
}

extension Outcome {
  fileprivate var kind: String {
    switch self {
    case .resolved: "resolved"
    case .failed(let error): error is TimeoutError ? "timed out" : "failed \(error)"
    case .cancelled(let cancellation): "cancelled \(cancellation.reason ?? "-")"
    }
  }
}
