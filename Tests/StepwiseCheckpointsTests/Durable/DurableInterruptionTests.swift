// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Steps inside a step in doubt that something other than the end of the run interrupts.
@Suite(.timeLimit(.minutes(2)))
struct DurableInterruptionTests {
  private let ledger = Ledger()
  private let base = MemoryCheckpointStore()

  /// A step in doubt that a time limit, or the failure of another step, interrupts while a step inside it works.
  private func interrupted(by cause: String, _ ledger: Ledger, _ store: DyingStore) -> Chain<Int, Int> {
    let (isRepeated, clock) = (Once<Void>(), ManualClock())
    return Chain("order") { (input: Int) in
      try await steps("outer", timeout: cause == "limit" ? .seconds(60) : nil, clock: clock) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            try await step("charge") {
              try await step("authorize") {}
              try await step("capture") {
                ledger.add("capture")
                if ledger.count("capture") == 1 { return store.die() }
                guard ledger.count("capture") == 2 else { return }
                isRepeated.settle(())
                if cause == "limit" {
                  await clock.sleepers(atLeast: 1)
                  clock.advance(by: .seconds(60))
                }
                try await Task.sleep(for: .seconds(3_600))
              }
            } undo: {
              ledger.add("refund")
            }
          }
          if cause == "sibling" {
            group.addTask {
              try await step("log") {
                _ = await isRepeated.value()
                throw Declined(card: "visa")
              }
            }
          }
          while try await group.next() != nil {}
        }
      }
      return input
    }
  }

  /// The first body may have done it, wherever the process dies while the second one is interrupted.
  // G141
  @Test(arguments: ["limit", "sibling"])
  func `A step interrupted inside a step in doubt is performed to undo it`(cause: String) async throws {
    for death in 2...30 {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      let (first, second) = (DyingStore(base), DyingStore(base, at: death, isLate: true))
      let chain = interrupted(by: cause, ledger, first)
      _ = try? await chain.run(1, id: "x", in: first)
      _ = try? await chain.run(1, id: "x", in: second)
      let ends = Ledger()
      try await expectNoDelay {
        while try await chain.unfinished(in: base) == ["x"], ends.lines.count < 4 {
          do { ends.add("\(try await chain.resume(id: "x", in: base))") } catch { ends.add("\(error)") }
        }
      }
      #expect(ledger.count("capture") == 3, "\(death): \(ledger.lines) \(ends.lines)")
      #expect(ledger.count("refund") == (ends.lines.last == "1" ? 0 : 1), "\(death): \(ledger.lines) \(ends.lines)")
      if second.writes < death { return }
    }
    Issue.record("more writes than expected")
  }

  // G145
  @Test func `A durable run inside a run that is cancelled stops, and stores no failure`() async throws {
    let failed = Recorder<Int>()
    let chain = Chain("flaky") { (input: Int) in
      failed.record(input)
      if failed.elements.count == 1 { throw Declined(card: "visa") }
      return input
    }
    .then("last") { $0 }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .constant(.milliseconds(500))))
    .timeout(.seconds(600))
    let outer = Chain { [base] in try await Task { try await chain.run(7, id: "x", in: base) }.value }
    let run = outer.start()
    await failed.elements(atLeast: 1)
    run.cancel()
    _ = await run.outcome
    while !(try await chain.unfinished(in: base).isEmpty), failed.elements.count == 1 {
      if let value = try? await chain.resume(id: "x", in: base) { #expect(value == 7) }
    }
    #expect(failed.elements == [7, 7])
  }
}
