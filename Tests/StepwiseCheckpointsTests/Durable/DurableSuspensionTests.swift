// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// A run that only waits is stopped by a host that keeps no slot for it.
@Suite(.timeLimit(.minutes(1)))
struct DurableSuspensionTests {
  /// A host that parks no run.
  private struct Host: DurableHost {
    let onSuspend: @Sendable () -> Void

    func park(_ waits: [DurableWait]) -> Bool { false }
    func unpark() async {}
    func suspend(_ waits: [DurableWait]) { onSuspend() }
    func signals(_ names: [String], limit: Int) async throws -> [(number: Int, name: String, value: [UInt8])] { [] }
    func news() -> @Sendable (_ limit: Duration) async -> Void { { _ in } }
  }

  /// The wait of another step may last for days.
  // G293
  @Test func `A run is not suspended before its code has the failure of a step that was undone at once`() async throws {
    let (base, ledger, clock) = (MemoryCheckpointStore(), Ledger(), ManualClock())
    let chain = Chain("order") { (input: Int) in
      try await withThrowingTaskGroup { group in
        group.addTask { try await step("wait", sleep: .seconds(3_600), clock: clock) }
        group.addTask {
          do {
            _ = try await step("charge") {
              await clock.sleepers(atLeast: 1)
              return Lossy(lost: 3)
            } undo: { _ in
              ledger.add("refund")
            }
          } catch {
            try await step("report") { ledger.add("report") }
          }
        }
        try await group.waitForAll()
      }
      return input
    }
    try await runUntilSuspended(chain, ledger, base)
    #expect(ledger.lines == ["refund", "report", "suspended"])
  }

  enum Work: CaseIterable { case undo, handler, innerRun }

  /// The wait of another step may last for days.
  // G293
  @Test(arguments: Work.allCases)
  func `A run is not suspended while its code waits for work that is no step`(work: Work) async throws {
    let (base, ledger, clock) = (MemoryCheckpointStore(), Ledger(), ManualClock())
    let failing = Chain("failing") { (_: Int) in _ = try await step("fail") { throw Declined(card: "visa") } }
      .onError { _ in
        ledger.add("handler")
        await letOthersRun()
      }
    let inner = Chain("inner") { (input: Int) in
      try await step("inner") {
        ledger.add("inner")
        await letOthersRun()
      }
      return input
    }
    let chain = Chain("order") { (input: Int) in
      try await withThrowingTaskGroup { group in
        group.addTask { try await step("wait", sleep: .seconds(3_600), clock: clock) }
        group.addTask {
          try await step("begin") { await clock.sleepers(atLeast: 1) }
          switch work {
          case .undo:
            try? await steps("attempt", retry: RetryPolicy(maxAttempts: 1, backoff: .none)) {
              try await step("charge") {
              } undo: {
                ledger.add("refund")
                await letOthersRun()
              }
              throw Declined(card: "visa")
            }
          case .handler: try? await failing.run(1)
          case .innerRun: try await inner.run(1, id: "inner", in: base)
          }
          try await step("report") { ledger.add("report") }
        }
        try await group.waitForAll()
      }
      return input
    }
    try await runUntilSuspended(chain, ledger, base)
    #expect(ledger.lines.dropFirst() == ["report", "suspended"])
  }

  /// The run has its outcome before the step is repeated, and the wait in the step is not over in that process.
  // G290, G297
  @Test func `A step that is repeated to be undone waits on when its run was suspended`() async throws {
    let (base, ledger) = (MemoryCheckpointStore(), Ledger())
    let chain = Chain("order") { (_: Int) in
      try await step("book") {
        ledger.add("book")
        try await step("wait", sleep: .seconds(3_600))
      } undo: {
        ledger.add("undo")
      }
    }
    .abandon(after: .seconds(60))
    _ = try? await chain.run(1, id: "x", in: DyingStore(base, at: 2, isLate: true))
    for hours in 1...3 {
      let now = Date(timeIntervalSinceNow: Double(hours) * 7_200)
      let run = chain.hosted(id: "x", in: base, host: Host { ledger.add("suspended") }, now: { now })
      _ = try? await run.execute(CancellationToken())
    }
    #expect(ledger.lines == ["book", "suspended", "book", "undo"])
    #expect(try await chain.unfinished(in: base) == [])
  }

  /// Starts a run that dies before its code, and resumes it by a host until that suspends it.
  private func runUntilSuspended(_ chain: Chain<Int, Int>, _ ledger: Ledger, _ base: MemoryCheckpointStore) async throws
  {
    await #expect(throws: DyingStore.Death.self) {
      try await chain.run(1, id: "o", in: DyingStore(base, at: 1, isLate: true))
    }
    let store = TappedStore(base: base) { _, write in
      if !ledger.lines.isEmpty { await letOthersRun() }
      try await write()
    }
    let run = chain.hosted(id: "o", in: store, host: Host { ledger.add("suspended") }, now: { Date() })
    #expect(try await run.execute(CancellationToken()) == nil)
  }
}
