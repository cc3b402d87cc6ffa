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
  func `A step in doubt is performed with the steps inside it, then it is undone`() async throws {
    let chain = composed(DyingStore(base))
    let store = DyingStore(base)
    _ = try? await composed(store).run(1, id: "x", in: store)
    #expect(ledger.lines == ["authorize", "capture"])
    #expect(try await chain.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.lines == ["authorize", "capture", "authorize", "capture", "refund receipt"])
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
    #expect(ledger.lines.sorted() == ["undo other", "undo outer"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `A step in doubt whose inner step fails has failed, and the run ends`() async throws {
    let chain = composed(DyingStore(base), failures: 1)
    let store = DyingStore(base)
    _ = try? await composed(store).run(1, id: "x", in: store)
    #expect(try await chain.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.lines == ["authorize", "capture", "authorize", "capture"])
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
  func `A step that a cancellation interrupts inside a repetition is performed in the next one`() async throws {
    let (first, second) = (DyingStore(base), DyingStore(base))
    let (handle, hasDied, isInterrupted) = (Once<Run<Int>>(), Once<Void>(), Once<Void>())
    let (isSecond, isLogging) = (Once<Void>(), Once<Void>())
    let chain = Chain("order") { [ledger] (input: Int) in
      try await step("charge") {
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            defer { if ledger.count("capture") == 2 { isInterrupted.settle(()) } }
            try await step("capture") {
              ledger.add("capture")
              switch ledger.count("capture") {
              case 1:
                first.die()
                hasDied.settle(())
              case 2:
                await isLogging.valueIgnoringCancellation()
                await handle.value()?.cancel(reason: "customer")
                try await Task.sleep(for: .seconds(3_600))
              default: break
              }
            }
          }
          group.addTask {
            // Its value is stored, with what was queued before it, and then the process dies.
            try await step("log") {
              await hasDied.valueIgnoringCancellation()
              guard isSecond.settled != nil else { return }
              isLogging.settle(())
              await isInterrupted.valueIgnoringCancellation()
            }
            if isSecond.settled != nil { second.die() }
          }
          try await group.waitForAll()
        }
      } undo: {
        ledger.add("refund")
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: first)
    isSecond.settle(())
    let run = chain.start(1, id: "x", in: second)
    handle.settle(run)
    _ = await run.outcome
    await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
    #expect(ledger.lines == ["capture", "capture", "capture", "refund"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  /// Stores what a process that died has stored.
  private func store(_ events: [DurableEvent]) async throws {
    let lease = try await base.acquire("x")
    let version = try await base.load("x")?.version ?? 0
    try await base.append(DurableEvent.bytes(of: events), ifVersionIs: version, under: lease)
    try await base.release(lease)
  }

  @Test(arguments: ["race", "zip"])
  func `A step in doubt in a branch that has lost is repeated and undone`(combine: String) async throws {
    let (store, hasDied) = (DyingStore(base), Once<Void>())
    // The other branch has ended by the end of this.
    @Sendable func wait() async throws {
      for _ in 0..<1_000 { await Task.yield() }
      try Task.checkCancellation()
    }
    let slow = Chain("slow") { [ledger] (input: Int) in
      try await wait()
      return try await step("book") {
        ledger.add("book")
        if ledger.count("book") == 1 {
          store.die()
          hasDied.settle(())
        }
        try await wait()
        return input
      } undo: { _ in
        ledger.add("undo")
      }
    }
    let last = Step("fast") { (input: Int) in
      await hasDied.valueIgnoringCancellation()
      return input
    }
    let fast = Chain(last)
    let both: Chain<Int, Int> =
      combine == "race" ? .race(slow, fast) : Chain.zip(slow, fast).then("sum") { $0 + $1 }.recover { _ in 9 }
    let chain = both.named("order")
    _ = try? await chain.run(1, id: "x", in: store)
    let end: DurableEvent =
      combine == "race"
      ? .completed("race[1]/fast", by: .init(task: 0, calls: 1), number: 1, value: Array("1".utf8), isUndoable: false)
      : .failed("zip[1]/fast", by: .init(task: 0, calls: 1), number: 1, StoredFailure(kind: .other))
    try await self.store([end])
    #expect(try await chain.run(1, id: "x", in: base) == (combine == "race" ? 1 : 9))
    #expect(ledger.lines == ["book", "book", "undo"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test(arguments: [true, false])
  func `A step in doubt that its code cancels stays in doubt until its body completes`(isCancelled: Bool) async throws {
    let (store, isRepeated) = (DyingStore(base), Once<Void>())
    let chain = Chain("order") { [ledger] (input: Int) in
      try? await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await step("book") {
            ledger.add("book")
            if ledger.count("book") == 1 { return store.die() }
            isRepeated.settle(())
            for _ in 0..<100_000 where !Task.isCancelled { await Task.yield() }
            if ledger.count("book") == 2 { try Task.checkCancellation() }
          } undo: {
            ledger.add("undo")
          }
        }
        group.addTask {
          try await step("fail") {
            _ = await isRepeated.value()
            throw Opaque()
          }
        }
        while try await group.next() != nil {}
      }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store)
    if isCancelled {
      #expect(try await chain.cancel(id: "x", in: base))
      // Nothing cancels a body that is performed only to be undone.
      await #expect(throws: CancellationError.self) { try await chain.resume(id: "x", in: base) }
      #expect(ledger.lines == ["book", "book", "undo"])
    } else {
      #expect(try await chain.run(1, id: "x", in: base) == 1)
      // The first body may have done it, and the second was not left to do it.
      #expect(try await chain.unfinished(in: base) == ["x"])
      #expect(try await chain.run(1, id: "x", in: base) == 1)
      #expect(ledger.lines == ["book", "book", "book", "undo"])
    }
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

  // G143
  @Test
  func `A step in doubt that a replayed failure cancels is repeated and undone`() async throws {
    let (store, isBooked, hasFailed, isConfirmed) = (DyingStore(base), Once<Void>(), Once<Void>(), Once<Void>())
    let chain = Chain("order") { [ledger] (input: Int) in
      try? await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await step("book") {
            ledger.add("book")
            isBooked.settle(())
            await hasFailed.valueIgnoringCancellation()
            await isConfirmed.valueIgnoringCancellation()
            if ledger.count("book") == 1 { store.die() }
          } undo: {
            ledger.add("undo")
          }
        }
        group.addTask {
          // Stores the failure, too.
          try await step("confirm") { await hasFailed.valueIgnoringCancellation() }
          isConfirmed.settle(())
        }
        group.addTask {
          do {
            try await step("failing") {
              await isBooked.valueIgnoringCancellation()
              throw Declined(card: "visa")
            }
          } catch {
            hasFailed.settle(())
            throw error
          }
        }
        while try await group.next() != nil {}
      }
      try await step("after") {}
      return input
    }
    await #expect(throws: DyingStore.Death.self) { try await chain.run(1, id: "x", in: store) }
    #expect(try await expectNoDelay { try await chain.run(1, id: "x", in: base) } == 1)
    #expect(try await expectNoDelay { try await chain.run(1, id: "x", in: base) } == 1)
    #expect(ledger.lines == ["book", "book", "undo"])
    #expect(try await chain.unfinished(in: base).isEmpty)
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
          return Lossy(lost: 3)
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
    // What could not be undone is repeated and undone by the next process.
    #expect(Array(ledger.lines[4...]) == (undoWorks ? [] : ["a", "undo 3"]) + ["CheckpointError", "b"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `A step that counts as failed has ended when its repetition fails`() async throws {
    let chain = Chain("lossy") { [ledger] (_: Int) throws -> Int in
      _ = try? await step("a") {
        ledger.add("a")
        if ledger.count("a") > 1 { throw Opaque() }
        return Lossy(lost: 3)
      } undo: { _ in
        ledger.add("undo")
        throw Opaque()
      }
      throw Declined(card: "b")
    }
    await #expect(throws: Declined(card: "b")) { try await chain.run(1, id: "x", in: base) }
    #expect(try await chain.unfinished(in: base) == ["x"])
    for _ in 0..<2 {
      await #expect(throws: Declined(card: "b")) { try await chain.resume(id: "x", in: base) }
      #expect(ledger.lines == ["a", "undo", "a"])
      #expect(try await chain.unfinished(in: base).isEmpty)
    }
  }

  // G143
  @Test(arguments: [true, false])
  func `A step in doubt that has lost its undo stops the run instead of running in vain`(isStored: Bool) async throws {
    let store = DyingStore(base)
    func chain(hasUndo: Bool) -> Chain<Int, Int> {
      let isBooking = Once<Void>()
      return Chain("order") { [ledger] (input: Int) in
        let book: @Sendable () async throws -> Void = {
          ledger.add("book")
          if ledger.count("book") == 1 { store.die() }
          isBooking.settle(())
          if isStored, ledger.count("book") == 2 { try await Task.sleep(for: .seconds(3_600)) }
        }
        try? await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            if hasUndo {
              try await step("book", book, undo: { ledger.add("undo") })
            } else {
              try await step("book", book)
            }
          }
          group.addTask {
            try await step("fail") {
              _ = await isBooking.value()
              throw Opaque()
            }
          }
          while try await group.next() != nil {}
        }
        return input
      }
    }
    _ = try? await chain(hasUndo: true).run(1, id: "x", in: store)
    if isStored {
      // Its repetition was interrupted.
      #expect(try await chain(hasUndo: true).run(1, id: "x", in: base) == 1)
    } else {
      #expect(try await chain(hasUndo: true).cancel(id: "x", in: base))
    }
    let before = ledger.lines
    await #expect(throws: CheckpointError.self) { try await chain(hasUndo: false).resume(id: "x", in: base) }
    #expect(ledger.lines == before)
    _ = try? await chain(hasUndo: true).resume(id: "x", in: base)
    #expect(ledger.lines.last == "undo")
    #expect(try await chain(hasUndo: true).unfinished(in: base).isEmpty)
  }
}
