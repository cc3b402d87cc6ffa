// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ManualClockTests {
  @Test func `Instants are measured in durations`() {
    let zero = ManualClock.Instant()
    let later = zero.advanced(by: .seconds(3))
    #expect(later.offset == .seconds(3))
    #expect(zero < later)
    #expect(zero.duration(to: later) == .seconds(3))
    #expect(later.duration(to: zero) == .seconds(-3))
    let clock = ManualClock(now: later)
    #expect(clock.now == later)
    #expect(clock.minimumResolution == .zero)
  }

  @Test func `Time passes only when advanced`() {
    let clock = ManualClock()
    clock.advance(by: .milliseconds(1_500))
    #expect(clock.now.offset == .milliseconds(1_500))
    clock.advance(by: .seconds(-1))
    clock.advance(to: ManualClock.Instant(offset: .seconds(1)))
    #expect(clock.now.offset == .milliseconds(1_500))
    clock.advance(to: ManualClock.Instant(offset: .seconds(2)))
    #expect(clock.now.offset == .seconds(2))
  }

  @Test func `A sleep lasts until the clock is advanced`() async throws {
    let clock = ManualClock()
    let task = Task {
      try await clock.sleep(for: .seconds(2))
      return clock.now
    }
    await clock.sleepers(atLeast: 1)
    #expect(clock.sleeperCount == 1)
    #expect(clock.nextDeadline?.offset == .seconds(2))
    clock.advance(by: .seconds(1))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    #expect(clock.sleeperCount == 0)
    #expect(try await task.value.offset == .seconds(2))
  }

  @Test func `A deadline in the past returns immediately`() async throws {
    let clock = ManualClock()
    try await clock.sleep(until: clock.now)
    try await clock.sleep(for: .seconds(-1))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(until: clock.now)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `A manual clock works as any Clock`() async throws {
    let manual = ManualClock()
    let clock: any Clock<Duration> = manual
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await manual.sleepers(atLeast: 1)
    manual.advance(by: .seconds(1))
    try await task.value
  }

  @Test func `A sleep that is cancelled before it begins throws`() async {
    let clock = ManualClock()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(clock.sleeperCount == 0)
  }

  @Test func `A sleep that is cancelled throws`() async {
    let clock = ManualClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.sleepers(atLeast: 1)
    task.cancel()
    #expect(clock.sleeperCount == 0)
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `A sleep that is cancelled after it woke returns`() async throws {
    let clock = ManualClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    task.cancel()
    try await task.value
  }

  @Test func `Waiting for sleepers ends when cancelled`() async {
    let clock = ManualClock()
    let task = Task { await clock.sleepers(atLeast: 1) }
    task.cancel()
    await task.value
    await clock.sleepers(atLeast: 0)
  }

  @Test @MainActor func `A manual clock may be used on an actor`() async throws {
    let clock = ManualClock()
    let task = Task { try await clock.sleep(for: .seconds(1)) }
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    try await task.value
  }

  @Test func `Advances from many threads add up`() async throws {
    let clock = ManualClock()
    let sleepers = (1...100).map { second in
      Task { try await clock.sleep(for: .seconds(second)) }
    }
    await clock.sleepers(atLeast: 100)
    await withTaskGroup { group in
      for _ in 1...100 {
        group.addTask { clock.advance(by: .seconds(1)) }
      }
    }
    #expect(clock.now.offset == .seconds(100))
    for sleeper in sleepers { try await sleeper.value }
  }

  /// Advance and cancel race on real threads: every sleep ends, once, in one of the two ways.
  @Test func `A sleep ends once when advance and cancel race`() async {
    for _ in 0..<2_000 {
      let clock = ManualClock()
      let sleeper = Task { try await clock.sleep(until: ManualClock.Instant(offset: .seconds(1))) }
      await withTaskGroup { group in
        group.addTask { clock.advance(by: .seconds(1)) }
        group.addTask { sleeper.cancel() }
        group.addTask { _ = await sleeper.result }
      }
      #expect(clock.sleeperCount == 0)
    }
  }

  @Test(arguments: [Duration.seconds(Int64.max), Duration(attoseconds: .max)])
  func `A clock stops at the end of time`(duration: Duration) async throws {
    let clock = ManualClock()
    for _ in 0..<30 { clock.advance(by: duration) }
    #expect(clock.now.offset == Duration(attoseconds: .max))
    #expect(clock.now.advanced(by: .seconds(1)) == clock.now)
    let start = ManualClock.Instant(offset: Duration(attoseconds: .min))
    #expect(start.duration(to: clock.now) == Duration(attoseconds: .max))
    #expect(clock.now.duration(to: start) == Duration(attoseconds: .min))
    #expect(start.advanced(by: .seconds(-1)) == start)
    try await clock.sleep(for: .seconds(1))
  }
}
