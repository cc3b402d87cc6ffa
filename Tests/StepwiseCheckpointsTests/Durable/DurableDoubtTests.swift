// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Steps that may have happened although no end of theirs is stored.
@Suite(.timeLimit(.minutes(2)))
struct DurableDoubtTests {
  private let ledger = Ledger()
  private let base = MemoryCheckpointStore()

  /// A step with undo that does its work in steps; the process dies in the last one.
  private func composed(_ store: DyingStore, failures: Int = 0, attempts: Int = 1) -> Chain<Int, Int> {
    Chain("order") { [ledger] (input: Int) in
      _ = try await step("charge", retry: RetryPolicy(maxAttempts: attempts, backoff: .none)) {
        try await step("authorize") { ledger.add("authorize") }
        try await step("capture") {
          ledger.add("capture")
          if ledger.count("capture") == 1 { store.die() }
          if (2..<2 + failures).contains(ledger.count("capture")) { throw Opaque() }
        }
        return "receipt"
      } undo: { receipt in
        ledger.add("refund \(receipt)")
      }
      return input
    }
  }

  @Test
  func `Steps inside a step in doubt are performed, then it is undone`() async throws {
    let chain = composed(DyingStore(base))
    let store = DyingStore(base)
    _ = try? await composed(store).run(1, id: "x", in: store)
    #expect(ledger.lines == ["authorize", "capture"])
    #expect(try await chain.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.lines == ["authorize", "capture", "capture", "refund receipt"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `Child tasks inside a step in doubt do not wait for another one`() async throws {
    let (store, isOtherBegun, hasDied) = (DyingStore(base), Once<Void>(), Once<Void>())
    let chain = Chain("order") { [ledger] (input: Int) in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await step("outer") {
            try await withThrowingTaskGroup(of: Void.self) { inner in
              inner.addTask {
                try await step("inner") {
                  await isOtherBegun.valueIgnoringCancellation()
                  store.die()
                  hasDied.settle(())
                  // In the repetition, the other one completes first.
                  for _ in 0..<200 { await Task.yield() }
                }
              }
              try await inner.waitForAll()
            }
          } undo: {
            ledger.add("undo outer")
          }
        }
        group.addTask {
          try await step("other") {
            isOtherBegun.settle(())
            await hasDied.valueIgnoringCancellation()
          } undo: {
            ledger.add("undo other")
          }
        }
        try await group.waitForAll()
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(try await chain.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.lines == ["undo outer", "undo other"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `A step in doubt whose inner step fails has failed, and the run ends`() async throws {
    let chain = composed(DyingStore(base), failures: 1)
    let store = DyingStore(base)
    _ = try? await composed(store).run(1, id: "x", in: store)
    #expect(try await chain.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.lines == ["authorize", "capture", "capture"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `A repetition is retried as the step is`() async throws {
    let chain = composed(DyingStore(base), failures: 2, attempts: 3)
    let store = DyingStore(base)
    _ = try? await composed(store, attempts: 3).run(1, id: "x", in: store)
    #expect(try await chain.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.count("capture") == 4 && ledger.count("refund receipt") == 1, "\(ledger.lines)")
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `A step in doubt whose repetition is cancelled is undone`() async throws {
    let (store, handle) = (DyingStore(base), Once<Run<Int>>())
    let chain = Chain("order") { [ledger] (input: Int) in
      _ = try await step("charge") {
        ledger.add("charge")
        switch ledger.count("charge") {
        case 1: store.die()
        case 2:
          await handle.value()?.cancel(reason: "customer")
          try await Task.sleep(for: .seconds(3_600))
        default: break
        }
        return "receipt"
      } undo: { receipt in
        ledger.add("refund \(receipt)")
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    let run = chain.start(1, id: "x", in: base)
    handle.settle(run)
    _ = await run.outcome
    #expect(try await chain.unfinished(in: base) == ["x"])
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.lines == ["charge", "charge", "charge", "refund receipt"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `A cancelled run performs no further step inside another`() async throws {
    let handle = Once<Run<Int>>()
    let chain = Chain("order") { [ledger] (input: Int) in
      try await step("charge") {
        try await step("authorize") { ledger.add("authorize") }
        await handle.value()?.cancel(reason: "customer")
        try? await Task.sleep(for: .seconds(3_600))
        try await step("capture") { ledger.add("capture") }
      } undo: {
        ledger.add("refund")
      }
      return input
    }
    let run = chain.start(1, id: "x", in: base)
    handle.settle(run)
    guard case .cancelled = await run.outcome else {
      Issue.record("it was not cancelled")
      return
    }
    #expect(ledger.lines == ["authorize"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  /// A step that dies, and fails when it is repeated.
  private func failing(_ store: DyingStore, catches: Bool) -> Chain<Int, Int> {
    Chain("order") { [ledger] (input: Int) in
      do {
        _ = try await step("charge") {
          ledger.add("charge")
          if ledger.count("charge") > 1 { throw Declined(card: "visa") }
          store.die()
          return "receipt"
        } undo: { receipt in
          ledger.add("refund \(receipt)")
        }
      } catch is Declined where catches {
        ledger.add("caught")
      }
      try await step("end") { ledger.add("end") }
      return input
    }
  }

  @Test
  func `A step in doubt whose repetition fails has failed`() async throws {
    let store = DyingStore(base)
    let chain = failing(store, catches: false)
    _ = try? await chain.run(1, id: "x", in: store)
    await #expect(throws: Declined(card: "visa")) { try await chain.run(1, id: "x", in: base) }
    #expect(try await chain.unfinished(in: base).isEmpty)
    await #expect(throws: Declined(card: "visa")) { try await chain.run(1, id: "x", in: base) }
    #expect(ledger.lines == ["charge", "charge"])
  }

  @Test
  func `A caught failure of a repetition is replayed`() async throws {
    let store = DyingStore(base)
    let chain = failing(store, catches: true)
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(try await chain.run(1, id: "x", in: base) == 1)
    #expect(ledger.lines == ["charge", "charge", "caught", "end"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test(arguments: [true, false])
  func `A step whose value cannot be stored is undone immediately`(undoWorks: Bool) async throws {
    let store = DyingStore(base)
    let chain = Chain("lossy") { [ledger] (input: Int) in
      do {
        _ = try await step("a") {
          ledger.add("a")
          return DurableReplayTests.Lossy(lost: 3)
        } undo: { value in
          ledger.add("undo \(value.lost)")
          if !undoWorks, ledger.count("undo 3") == 1 { throw Opaque() }
        }
      } catch {
        ledger.add("\(type(of: error))")
      }
      try await step("b") {
        ledger.add("b")
        if ledger.count("b") == 1 { store.die() }
      }
      if !undoWorks { throw Declined(card: "b") }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(ledger.lines == ["a", "undo 3", "CheckpointError", "b"])
    _ = try? await chain.run(1, id: "x", in: base)
    #expect(Array(ledger.lines[4...].prefix(2)) == ["CheckpointError", "b"])
    if !undoWorks {
      #expect(try await chain.unfinished(in: base) == ["x"])
      _ = try? await chain.resume(id: "x", in: base)
      #expect(ledger.count("a") == 2 && ledger.count("undo 3") == 2, "\(ledger.lines)")
    }
    #expect(try await chain.unfinished(in: base).isEmpty)
  }
}
