// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// What an earlier process left behind is continued as a whole.
@Suite(.timeLimit(.minutes(2)))
struct ResumeAllTests {
  private let store = MemoryCheckpointStore()
  private let clock = ManualClock()
  private let released = Recorder<Int>()
  private let shipped = Recorder<Int>()
  private let firstProcess = CancellationToken()
  private let begun = Recorder<Int>()

  /// The first order fails, the second one sleeps, the others ship; each stops in its first process.
  private var order: Chain<Int, Int> {
    Chain("order") { [clock, released, shipped, begin] (number: Int) in
      try await step("reserve") {
        number
      } undo: {
        released.record($0)
      }
      try await step("begin") { try await begin(number) }
      if number == 1 { throw Declined(card: "visa") }
      if number == 2 { try await step("wait", sleep: .seconds(3 * 86_400), clock: clock) }
      try await step("ship") { shipped.record(number) }
      return number
    }
  }

  /// Ends only in the second process.
  private var begin: @Sendable (Int) async throws -> Void {
    { [firstProcess, begun] number in
      begun.record(number)
      if firstProcess.isCancelled { return }
      await firstProcess.waitForCancellation()
      throw CancellationError()
    }
  }

  /// What the first process leaves behind.
  private func leave(_ numbers: ClosedRange<Int>, of chain: Chain<Int, Int>) async throws {
    let runs = numbers.map { chain.start($0, id: "order-\($0)", in: store, cancelledBy: firstProcess) }
    await begun.elements(atLeast: numbers.count)
    firstProcess.cancel()
    for run in runs { await #expect(throws: CancellationError.self) { try await run.value } }
    #expect(try await chain.unfinished(in: store) == numbers.map { "order-\($0)" })
  }

  // G179
  @Test func `No run that is resumed keeps another one from continuing`() async throws {
    let order = order
    try await leave(1...4, of: order)
    let held = try await store.acquire("order-4")
    let outcomes = Recorder<String>()
    let all = Task {
      try await order.resumeAll(in: store) { id, outcome in
        let isHeld = if case .failed(CheckpointError.held) = outcome { true } else { false }
        outcomes.record("\(id) \(isHeld ? "held" : "\(outcome)")")
      }
    }
    await outcomes.elements(atLeast: 3)
    await clock.sleepers(atLeast: 1)
    #expect(outcomes.elements.count == 3)
    #expect(outcomes.elements.contains { $0.hasPrefix("order-1 failed") })
    #expect(outcomes.elements.contains { $0.hasPrefix("order-3 succeeded") })
    #expect(outcomes.elements.contains("order-4 held"))
    #expect(released.elements == [1])
    #expect(shipped.elements == [3])

    all.cancel()
    await #expect(throws: CancellationError.self) { try await all.value }
    #expect(outcomes.elements.last?.hasPrefix("order-2 cancelled") == true)
    try await store.release(held)
    #expect(try await order.unfinished(in: store) == ["order-2", "order-4"])
    #expect(released.elements == [1])
  }

  @Test(arguments: [0, 1, 2]) func `As many runs are resumed at once as the limit allows`(limit: Int) async throws {
    let (gate, resumed, counts, inFlight) = (Once<Void>(), Recorder<Int>(), Recorder<Int>(), Watched(0))
    let chain = Chain("order") { [begin] (number: Int) in
      try await step("begin") { try await begin(number) }
      return try await step("ship") {
        counts.record(
          inFlight.mutate { count in
            count += 1
            return count
          }
        )
        resumed.record(number)
        _ = await gate.value()
        inFlight.mutate { $0 -= 1 }
        return number
      }
    }
    try await leave(1...5, of: chain)
    async let all: Void = chain.resumeAll(in: store, limit: limit)
    await resumed.elements(atLeast: max(1, limit))
    gate.settle(())
    try await all
    #expect(resumed.elements.sorted() == [1, 2, 3, 4, 5])
    #expect(counts.elements.max() == max(1, limit))
    #expect(try await chain.unfinished(in: store).isEmpty)
  }
}
