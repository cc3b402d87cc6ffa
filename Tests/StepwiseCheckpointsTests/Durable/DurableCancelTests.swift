// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Runs that are cancelled for good before they begin or while they stop, and runs without a lease.
@Suite(.timeLimit(.minutes(2)))
struct DurableCancelTests {
  @Test
  func `An id is cancelled for good while its run is stopping`() async throws {
    let (orders, store, token) = (Orders(), MemoryCheckpointStore(), CancellationToken())
    let (stopping, isCancelled) = (Once<Void>(), Once<Void>())
    var stopped = orders
    stopped.check = { step in if step == "charge" { token.cancel() } }
    let chain = stopped.chain.finally { _ in
      stopping.settle(())
      await isCancelled.valueIgnoringCancellation()
    }
    let run = chain.start(1, id: "o", in: store, cancelledBy: token)
    await stopping.valueIgnoringCancellation()
    #expect(try await chain.cancel(id: "o", in: store, reason: "customer"))
    isCancelled.settle(())
    _ = await run.outcome
    #expect(try await chain.unfinished(in: store) == ["o"])
    let resumed = orders.chain.start(1, id: "o", in: store)
    await #expect(throws: CancellationError.self) { try await resumed.value }
    #expect(resumed.failedStep == nil)
    #expect(orders.ledger.lines.suffix(3) == ["refund receipt", "release", "finally"])
    #expect(try await chain.unfinished(in: store).isEmpty)
  }

  @Test
  func `A run that is cancelled before it has begun runs no body`() async throws {
    for _ in 0..<20 {
      let (orders, isCancelled) = (Orders(), Once<Void>())
      let store = TappedStore(base: MemoryCheckpointStore()) { _, write in
        await isCancelled.valueIgnoringCancellation()
        try await write()
      }
      let run = orders.chain.start(1, id: "o", in: store)
      #expect(run.cancel(reason: "customer"))
      isCancelled.settle(())
      guard case .cancelled(let cancellation) = await run.outcome else {
        Issue.record("it was not cancelled")
        return
      }
      #expect(cancellation.reason == "customer")
      #expect(orders.ledger.lines == ["finally"])
      #expect(try await orders.chain.unfinished(in: store).isEmpty)
      await #expect(throws: CancellationError.self) { try await orders.chain.run(1, id: "o", in: store) }
    }
  }

  @Test
  func `A run whose lease is over performs no further body`() async throws {
    for _ in 0..<50 {
      let ledger = Ledger()
      let chain = Chain("work") { (input: Int) in
        try await step("a") { ledger.add("a") }
        return input
      }
      await #expect(throws: CheckpointError.self) { try await chain.run(1, id: "x", in: ExpiredStore()) }
      #expect(ledger.lines.isEmpty)
    }
  }

  /// An output during whose encoding the run is cancelled.
  private struct Total: Codable {
    static let run = Once<Run<Total>>()
    static let isCancelled = Once<Bool>()

    let amount: Int

    func encode(to encoder: any Encoder) throws {
      if let run = Self.run.settled { Self.isCancelled.settle(run.cancel(reason: "customer")) }
      var container = encoder.singleValueContainer()
      try container.encode(amount)
    }

    init(amount: Int) { self.amount = amount }
    init(from decoder: any Decoder) throws { amount = try decoder.singleValueContainer().decode(Int.self) }
  }

  @Test
  func `A run that is cancelled while its output is encoded is undone`() async throws {
    let (ledger, store) = (Ledger(), MemoryCheckpointStore())
    let chain = Chain("order") { (input: Int) in
      try await step("charge") {
      } undo: {
        ledger.add("refund")
      }
      _ = await Total.run.value()
      return Total(amount: input)
    }
    let run = chain.start(1, id: "x", in: store)
    Total.run.settle(run)
    let outcome = await run.outcome
    #expect(Total.isCancelled.settled == true)
    guard case .cancelled(let cancellation) = outcome else {
      Issue.record("it was not cancelled: \(outcome)")
      return
    }
    #expect(cancellation.reason == "customer")
    #expect(ledger.lines == ["refund"])
    #expect(try await chain.unfinished(in: store).isEmpty)
  }
}
