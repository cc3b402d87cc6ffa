// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// Waits and time limits whose ends are stored.
@Suite(.timeLimit(.minutes(2)))
final class DurableTimeTests: Sendable {
  private let ledger = Ledger()
  private let base = MemoryCheckpointStore()
  private let time = Lock(Date(timeIntervalSince1970: 1_000_000))

  @Sendable private func now() -> Date { time.withLock { $0 } }
  private func advance(_ seconds: Double) { time.withLock { $0 += seconds } }

  @Test(arguments: [40.0, 100, -500])
  func `After a crash, a wait continues for the rest of its time`(passed: Double) async throws {
    let (store, clock) = (DyingStore(base), ManualClock())
    let chain = Chain("wait") { [ledger] (input: Int) in
      try await step("cool down", sleep: .seconds(60), clock: clock)
      ledger.add("end")
      return input
    }
    let first = Task { try await chain.run(1, id: "x", in: store, now: now) }
    await clock.sleepers(atLeast: 1)
    #expect(clock.nextDeadline?.offset == .seconds(60))
    store.die()
    first.cancel()
    _ = await first.result
    advance(passed)
    let second = Task { try await chain.run(1, id: "x", in: base, now: now) }
    let rest = min(60, max(0, 60 - passed))
    if rest > 0 {
      await clock.sleepers(atLeast: 1)
      #expect(clock.nextDeadline.map { $0.offset - clock.now.offset } == .seconds(rest))
      clock.advance(by: .seconds(rest))
    }
    #expect(try await second.value == 1)
    #expect(ledger.lines == ["end"])
  }

  /// Many steps, so that a limit that is over has time to cancel what is replayed.
  private func limited(_ store: DyingStore, diesIn name: String) -> Chain<Int, Int> {
    var chain = Chain("0") { (input: Int) in input }
    for number in 1..<300 { chain = chain.then("\(number)") { (input: Int) in input } }
    return chain.then("fail") { (_: Int) throws -> Int in throw Declined(card: "visa") }
      .recover { [ledger] _ in
        ledger.add("recover")
        return 7
      }
      .then("inside") { [ledger] (input: Int) in
        ledger.add("inside")
        if name == "inside", ledger.count("inside") == 1 { store.die() }
        return input
      }
      // By a clock that stands still: the stored time decides, and not how busy the machine is.
      .timeout(.seconds(10), clock: ManualClock())
      .recover(from: TimeoutError.self) { [ledger] _ in
        ledger.add("timeout")
        return 8
      }
      .then("after") { [ledger] (input: Int) in
        ledger.add("after")
        if name == "after", ledger.count("after") == 1 { store.die() }
        return input
      }
  }

  @Test
  func `Steps that ended in time are replayed after their time limit is over`() async throws {
    let store = DyingStore(base)
    let chain = limited(store, diesIn: "after")
    _ = try? await chain.run(1, id: "x", in: store, now: now)
    #expect(ledger.lines == ["recover", "inside", "after"])
    advance(3_600)
    #expect(try await chain.run(1, id: "x", in: base, now: now) == 7)
    #expect(ledger.lines == ["recover", "inside", "after", "recover", "after"])
  }

  @Test
  func `A time limit that passed while nothing ran ends the replayed chain`() async throws {
    let store = DyingStore(base)
    let chain = limited(store, diesIn: "inside")
    _ = try? await chain.run(1, id: "x", in: store, now: now)
    advance(3_600)
    #expect(try await chain.run(1, id: "x", in: base, now: now) == 8)
    #expect(ledger.lines == ["recover", "inside", "recover", "timeout", "after"])
    #expect(try await chain.run(1, id: "x", in: base, now: now) == 8)
    #expect(ledger.lines.count == 5)
  }

  /// A step that may have happened, under a limit whose error is replaced.
  private func charging(
    _ clock: ManualClock = ManualClock(),
    _ body: @escaping @Sendable (_ count: Int) async throws -> Void
  ) -> Chain<Int, Int> {
    Chain("charge", undo: { [ledger] (_: Int) in ledger.add("refund") }) { [ledger] (input: Int) in
      ledger.add("charge")
      try await body(ledger.count("charge"))
      return input
    }
    .timeout(.seconds(10), clock: clock)
    .recover(from: TimeoutError.self) { _ in 8 }
  }

  @Test
  func `A step in doubt whose time limit has passed is repeated and undone`() async throws {
    let store = DyingStore(base)
    let chain = charging { count in if count == 1 { store.die() } }
    _ = try? await chain.run(1, id: "x", in: store, now: now)
    advance(3_600)
    for _ in 0..<2 {
      #expect(try await chain.run(1, id: "x", in: base, now: now) == 8)
      #expect(ledger.lines == ["charge", "charge", "refund"])
      #expect(try await chain.unfinished(in: base).isEmpty)
    }
  }

  @Test
  func `A step in doubt whose repetition exceeds a time limit is still to be undone`() async throws {
    let (store, clock) = (DyingStore(base), ManualClock())
    let chain = charging(clock) { count in
      switch count {
      case 1: store.die()
      case 2:
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .seconds(10))
        try await Task.sleep(for: .seconds(3_600))
      default: break
      }
    }
    _ = try? await chain.run(1, id: "x", in: store, now: now)
    #expect(try await chain.run(1, id: "x", in: base, now: now) == 8)
    #expect(try await chain.unfinished(in: base) == ["x"])
    #expect(try await chain.run(1, id: "x", in: base, now: now) == 8)
    #expect(ledger.lines == ["charge", "charge", "charge", "refund"])
    #expect(try await chain.unfinished(in: base).isEmpty)
  }

  @Test
  func `A retry that gave up because of its time gives up in a replay`() async throws {
    let (store, clock) = (DyingStore(base), ManualClock())
    let policy = RetryPolicy(maxAttempts: 10, backoff: .none, maxElapsed: .seconds(5))
    let chain = Chain("try") { [ledger] (_: Int) throws -> Int in
      ledger.add("try")
      if ledger.count("try") == 2 { clock.advance(by: .seconds(6)) }
      throw Declined(card: "visa")
    }
    .retry(policy, clock: clock)
    .recover { _ in 7 }
    .then("after") { [ledger] (input: Int) in
      ledger.add("after")
      if ledger.count("after") == 1 { store.die() }
      return input
    }
    _ = try? await chain.run(1, id: "x", in: store, now: now)
    #expect(ledger.lines == ["try", "try", "after"])
    #expect(try await chain.run(1, id: "x", in: base, now: now) == 7)
    #expect(ledger.lines == ["try", "try", "after", "after"])
  }

  @Test
  func `The time of a retry continues over a crash`() async throws {
    let (store, clock) = (DyingStore(base), ManualClock())
    let policy = RetryPolicy(maxAttempts: 10, backoff: .none, maxElapsed: .seconds(5))
    let attempt = Step("try") { [ledger] (_: Int) throws -> Int in
      ledger.add("try")
      if ledger.count("try") == 2 { store.die() }
      throw Declined(card: "visa")
    }
    let chain = Chain(attempt).retry(policy, clock: clock)
    _ = try? await chain.run(1, id: "x", in: store, now: now)
    #expect(ledger.lines == ["try", "try"])
    advance(6)
    await #expect(throws: Declined.self) { try await chain.run(1, id: "x", in: base, now: now) }
    #expect(ledger.lines == ["try", "try", "try"])
  }

  @Test
  func `The time of a step's retry continues over a crash`() async throws {
    let (token, clock) = (CancellationToken(), ManualClock())
    let policy = RetryPolicy(maxAttempts: 10, backoff: .none, maxElapsed: .seconds(5))
    let chain = Chain("order") { [ledger] (_: Int) throws -> Int in
      try await step("try", retry: policy, clock: clock) {
        ledger.add("try")
        if ledger.count("try") == 2 { token.cancel() }
        try Task.checkCancellation()
        throw Declined(card: "visa")
      }
    }
    _ = await chain.start(1, id: "x", in: base, cancelledBy: token, now: now).outcome
    #expect(ledger.lines == ["try", "try"])
    advance(6)
    await #expect(throws: Declined.self) { try await chain.run(1, id: "x", in: base, now: now) }
    #expect(ledger.lines == ["try", "try", "try"])
  }

  @Test(arguments: [true, false])
  func `Abandoned steps are not run again in a replay`(inTime: Bool) async throws {
    let (store, clock, stuck) = (DyingStore(base), ManualClock(), Once<Void>())
    let chain = Chain("stuck", undo: { [ledger] (_: Int) in ledger.add("undo") }) { [ledger] (input: Int) in
      ledger.add("stuck")
      if !inTime { await stuck.valueIgnoringCancellation() }
      return input
    }
    .abandon(after: .seconds(10), clock: clock)
    .recover(from: TimeoutError.self) { _ in 7 }
    .then("after") { [ledger] (input: Int) in
      ledger.add("after")
      if ledger.count("after") == 1 { store.die() }
      return input
    }
    let first = Task { try await chain.run(1, id: "x", in: store, now: now) }
    if !inTime {
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(10))
    }
    _ = await first.result
    #expect(ledger.lines == ["stuck", "after"])
    #expect(try await chain.run(1, id: "x", in: base, now: now) == (inTime ? 1 : 7))
    #expect(ledger.lines == ["stuck", "after", "after"])
    stuck.settle(())
  }

  @Test
  func `A step that completes after its run was abandoned is undone`() async throws {
    let (clock, stuck, undone) = (ManualClock(), Once<Void>(), Once<Void>())
    let chain = Chain("stuck", undo: { (_: Int) in undone.settle(()) }) { (input: Int) in
      await stuck.valueIgnoringCancellation()
      return input
    }
    .abandon(after: .seconds(10), clock: clock)
    let task = Task { try await chain.run(1, id: "x", in: base, now: now) }
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(10))
    await #expect(throws: TimeoutError.self) { try await task.value }
    // Until it has ended, it is in doubt.
    #expect(try await chain.unfinished(in: base) == ["x"])
    stuck.settle(())
    await undone.valueIgnoringCancellation()
  }

  // G181
  @Test func `Virtual time waits for what a run stores`() async throws {
    let (clock, base) = (ManualClock(), base)
    // An append that is not awaited by the clock lets the time pass to the limit.
    let store = TappedStore(base: base) { _, write in
      for _ in 0..<100 { await Task.yield() }
      try await write()
    }
    let chain = Chain("a") { (input: Int) in
      for name in ["one", "two", "three"] { try await step(name) { try await clock.sleep(for: .seconds(1)) } }
      return input
    }
    .timeout(.seconds(120), clock: clock)
    #expect(try await clock.run { try await chain.run(1, id: "x", in: store) } == 1)
    #expect(clock.now.offset == .seconds(3))
  }

  /// The timer of the limit and the code that leaves it take a lock each.
  // G182
  @Test func `A limit that is over as its work ends is waited for by no one`() async throws {
    let timeouts = Lock(0)
    let patience = DurableRun.Patience(duration: .seconds(20)) { timeouts.withLock { $0 += 1 } }
    let chain = Chain("limits") { (count: Int) in
      for _ in 0..<count {
        _ = try? await steps("limited", timeout: .microseconds(.random(in: 100...400))) {
          try await step("work") { usleep(.random(in: 50...350)) }
        }
      }
      return count
    }
    let count = try await DurableRun.Patience.$current.withValue(patience) {
      try await chain.run(2_000, id: "x", in: base)
    }
    #expect(count == 2_000)
    #expect(timeouts.withLock { $0 } == 0)
  }
}
