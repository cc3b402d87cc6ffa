// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// What a run does not wait for any more: it takes the same path in each process, and is undone once.
@Suite(.timeLimit(.minutes(5)))
struct DurableAbandonTests {
  private let ledger = Ledger()
  private let store = MemoryCheckpointStore()

  /// Lets the second pass after which the work is abandoned.
  private func passLimit(on clock: ManualClock, after reached: Once<Void>) async {
    await reached.valueIgnoringCancellation()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
  }

  /// The body is performed with all attempts that it had, and the undo is stored.
  // G297
  @Test(arguments: 1...3)
  func `A step in doubt whose work was abandoned is undone once`(attempts: Int) async throws {
    for _ in 0..<20 {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      let tries = Lock(0)
      let chain = Chain("order") { (_: Int) in
        try await step("book", retry: RetryPolicy(maxAttempts: 3, backoff: .none)) {
          let number = tries.withLock { tries in
            tries += 1
            return tries
          }
          if number < attempts { throw Declined(card: "visa") }
          try await step("seat") {}
          ledger.add("book")
        } undo: {
          ledger.add("undo")
        }
      }
      .abandon(after: .seconds(3_600))
      _ = try? await chain.run(1, id: "x", in: DyingStore(base, at: 3))
      // The first one stores that the limit is over, and how the run has ended.
      for _ in 1...2 {
        tries.withLock { $0 = 0 }
        await #expect(throws: TimeoutError.self) {
          try await chain.run(1, id: "x", in: base, now: { .now.addingTimeInterval(7_200) })
        }
      }
      #expect(ledger.lines == ["book", "book", "undo"])
      #expect(try await chain.unfinished(in: base) == [])
    }
  }

  /// Of a run that fails, and of one that goes on without the work; the work goes on as well, or fails.
  // G297
  @Test(arguments: [false, true], [false, true])
  func `Abandoned work in doubt takes the same path in each process`(isCaught: Bool, goesOn: Bool) async throws {
    let booking = Chain("booking") { (input: Int) in
      do {
        try await step("book") {
          ledger.add("book")
        } undo: {
          ledger.add("undo")
        }
      } catch  where goesOn {}
      return input
    }
    .abandon(after: .seconds(3_600))
    let chain = Chain("order") { (input: Int) in
      do { return try await booking.run(input) } catch is TimeoutError where isCaught { return 7 }
    }
    _ = try? await chain.run(1, id: "x", in: DyingStore(store, at: 3))
    // The first one stores that the limit is over, and how the run has ended.
    for _ in 1...2 {
      #expect(try await chain.unfinished(in: store) == ["x"])
      let result = await Result.of {
        try await expectNoDelay { try await chain.run(1, id: "x", in: store, now: { .now.addingTimeInterval(7_200) }) }
      }
      if isCaught { #expect(try result.get() == 7) } else { #expect(throws: TimeoutError.self) { try result.get() } }
    }
    #expect(ledger.lines == ["book", "book", "undo"])
    #expect(try await chain.unfinished(in: store) == [])
  }

  /// The store of a process that dies when it stores a certain event.
  private struct StoreUntil: ForwardingStore {
    let base: any CheckpointStore
    let isLast: @Sendable (DurableEvent) -> Bool
    let death = Once<Void>()

    func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws {
      if let entry, try DurableEvent.events(in: entry).contains(where: isLast) { death.settle(()) }
      guard death.settled == nil else { throw DyingStore.Death() }
      try await write()
    }
  }

  /// All else of that process has ended when the work is undone.
  // G297
  @Test(arguments: [false, true])
  func `One further process undoes abandoned work, and stores that`(isUndone: Bool) async throws {
    for _ in 0..<50 {
      let (ledger, store, clock) = (Ledger(), MemoryCheckpointStore(), ManualClock())
      let (reached, release) = (Once<Void>(), Once<Void>())
      let dying = StoreUntil(base: store) { event in
        switch event {
        // The first number is that of the payment.
        case .undoing(let numbers): !isUndone && !numbers.contains(1)
        case .undone: true
        default: false
        }
      }
      let booking = Chain("booking") { (_: Int) in
        try await step("book") {
          reached.settle(())
          await release.valueIgnoringCancellation()
        } undo: {
          await letOthersRun()
          ledger.add("undo")
        }
      }
      .abandon(after: .seconds(1), clock: clock)
      let chain = Chain("order") { (input: Int) in
        try await step("pay") {
        } undo: {
          release.settle(())
          await dying.death.valueIgnoringCancellation()
        }
        try await booking.run(input)
      }
      let run = chain.start(1, id: "x", in: dying)
      await passLimit(on: clock, after: reached)
      _ = await run.outcome
      #expect(ledger.lines.count == (isUndone ? 1 : 0))
      await #expect(throws: TimeoutError.self) { try await chain.resume(id: "x", in: store) }
      #expect(ledger.lines.count == (isUndone ? 2 : 1))
      #expect(try await chain.unfinished(in: store) == [])
    }
  }

  // MARK: - The end of the run

  /// The chain in that work still runs, so that nothing of it is undone before it ends.
  // G298
  @Test(arguments: [false, true])
  func `A run does not wait for abandoned work that hangs, and the next one undoes it`(isCaught: Bool) async throws {
    let (reached, release, clock) = (Once<Void>(), Once<Void>(), ManualClock())
    let booking = Chain("booking") { (_: Int) in
      try await step("book") {
      } undo: {
        ledger.add("undo")
      }
      try await step("pay") {
        reached.settle(())
        await release.valueIgnoringCancellation()
      }
    }
    let part = Chain("part") { (input: Int) in try await booking.run(input) }.abandon(after: .seconds(1), clock: clock)
    let chain = Chain("order") { (input: Int) in
      do { try await part.run(input) } catch is TimeoutError where isCaught {}
    }
    let run = chain.start(1, id: "x", in: store)
    await passLimit(on: clock, after: reached)
    _ = await run.outcome
    #expect(ledger.lines == [])
    #expect(try await chain.unfinished(in: store) == ["x"])
    let result = await Result.of { try await chain.resume(id: "x", in: store) }
    if isCaught { try result.get() } else { #expect(throws: TimeoutError.self) { try result.get() } }
    #expect(ledger.lines == ["undo"])
    #expect(try await chain.unfinished(in: store) == [])
    release.settle(())
  }

  // G298
  @Test func `A check of a run waits for no undo`() async throws {
    let chain = Chain("order") { (_: Int) in
      try await step("pay") {
      } undo: {
        throw Opaque()
      }
      try await step("ship") { throw Declined(card: "visa") }
    }
    await #expect(throws: Declined.self) { try await chain.run(1, id: "x", in: store) }
    #expect(try await chain.unfinished(in: store) == ["x"])
    try await chain.checkReplay(in: store)
  }

  /// Otherwise each process would undo the step again, and one beside a run that is stopped at the same time.
  // G298
  @Test(arguments: [false, true])
  func `A run waits for an undo of abandoned work that has begun`(isStopped: Bool) async throws {
    let (reached, release, clock) = (Once<Void>(), Once<Void>(), ManualClock())
    let (begun, stopped) = (Once<Void>(), Once<Void>())
    let booking = Chain("booking") { (_: Int) in
      try await step("book") {
        reached.settle(())
        await release.valueIgnoringCancellation()
      } undo: {
        begun.settle(())
        if isStopped { await stopped.valueIgnoringCancellation() }
        for _ in 0..<20 { await letOthersRun() }
        ledger.add("undo")
      }
    }
    .abandon(after: .seconds(1), clock: clock)
    let chain = Chain("order") { (input: Int) in
      try await step("pay") {
      } undo: {
        release.settle(())
        await begun.valueIgnoringCancellation()
      }
      try await booking.run(input)
    }
    let run = chain.start(1, id: "x", in: store)
    await passLimit(on: clock, after: reached)
    await begun.valueIgnoringCancellation()
    if isStopped { chain.cancelRuns() }
    stopped.settle(())
    _ = await run.outcome
    #expect(ledger.lines == ["undo"])
    #expect(try await chain.unfinished(in: store) == [])
  }

  @MainActor private func work(_ release: Once<Void>?) async {
    if let release { return await release.valueIgnoringCancellation() }
    for _ in 0..<20 { await letOthersRun() }
  }

  /// Code that is elsewhere for ever waits for something that is no step.
  // G298
  @Test(arguments: [false, true])
  func `A run that is resumed waits for abandoned code that is elsewhere, but not for ever`(hangs: Bool) async throws {
    let (reached, release, clock, uses) = (Once<Void>(), Once<Void>(), ManualClock(), Ledger())
    let booking = Chain("booking") { (_: Int) in
      try await step("book") {
      } undo: {
        ledger.add("undo")
      }
      do {
        try await step("pay") {
          reached.settle(())
          await release.valueIgnoringCancellation()
        }
      } catch {
        await work(hangs ? release : nil)
        throw error
      }
    }
    let part = Chain("part") { (input: Int) in try await booking.run(input) }.abandon(after: .seconds(1), clock: clock)
    let chain = Chain("order") { (input: Int) in try await part.run(input) }
    let run = chain.start(1, id: "x", in: store)
    await passLimit(on: clock, after: reached)
    _ = await run.outcome
    let patience = DurableRun.Patience(duration: hangs ? .milliseconds(20) : .seconds(60)) { uses.add("waited") }
    await DurableRun.Patience.$current.withValue(patience) {
      await #expect(throws: TimeoutError.self) { try await chain.resume(id: "x", in: store) }
    }
    #expect(uses.lines == (hangs ? ["waited"] : []))
    #expect(ledger.lines == (hangs ? [] : ["undo"]))
    #expect(try await chain.unfinished(in: store) == (hangs ? ["x"] : []))
    release.settle(())
  }

  /// A store that is slow when it appends, from the outcome on.
  private struct SlowStore: ForwardingStore {
    let base: any CheckpointStore
    let outcome = Once<Void>()

    func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws {
      if let entry {
        if try DurableEvent.events(in: entry).contains(where: \.isOutcome) { outcome.settle(()) }
        if outcome.settled != nil { for _ in 0..<20 { await letOthersRun() } }
      }
      try await write()
    }
  }

  /// It would have another version than the one that replaces the events.
  // G298
  @Test func `What abandoned work stores while its run ends is stored before the end`() async throws {
    let (reached, release, undone) = (Once<Void>(), Once<Void>(), Once<Void>())
    let (clock, slow) = (ManualClock(), SlowStore(base: store))
    let booking = Chain("booking") { (_: Int) in
      async let report: Void = step("report") {
        await slow.outcome.valueIgnoringCancellation()
        throw Declined(card: "visa")
      }
      async let book: Void = step("book") {
        reached.settle(())
        await release.valueIgnoringCancellation()
      } undo: {
        undone.settle(())
      }
      _ = try? await report
      try await book
    }
    .abandon(after: .seconds(1), clock: clock)
    let chain = Chain("order") { (input: Int) in
      do { try await booking.run(input) } catch is TimeoutError {}
    }
    let run = chain.start(1, id: "x", in: slow)
    await passLimit(on: clock, after: reached)
    try await run.value
    release.settle(())
    await undone.valueIgnoringCancellation()
    #expect(try await chain.unfinished(in: store) == [])
  }
}
