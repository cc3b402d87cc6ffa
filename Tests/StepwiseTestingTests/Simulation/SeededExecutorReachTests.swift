// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseTesting
import Testing

/// Tells the threads apart.
func currentThread() -> ObjectIdentifier {
  ObjectIdentifier(Thread.current)
}

/// What of Swift concurrency runs on the executor, and the time that passes there.
@Suite(.timeLimit(.minutes(5)))
struct SeededExecutorReachTests {
  @TaskLocal private static var local = 0

  private actor Counter {
    private(set) var count = 0
    var threads: Set<ObjectIdentifier> = []

    func add() async {
      let before = count
      threads.insert(currentThread())
      await Task.yield()
      threads.insert(currentThread())
      count = before + 1
    }

    func addWithoutSuspending() {
      threads.insert(currentThread())
      count += 1
    }
  }

  @Test func `Everything runs on the calling thread`() throws {
    let threads = Recorder<ObjectIdentifier>()
    try SeededExecutor(seed: 1).run {
      threads.record(currentThread())
      async let left: Void = threads.record(currentThread())
      async let right: Void = threads.record(currentThread())
      _ = await (left, right)
      await withTaskGroup { group in
        for _ in 0..<3 {
          group.addTask {
            await Task.yield()
            threads.record(currentThread())
          }
        }
      }
      await withDiscardingTaskGroup { group in
        group.addTask { threads.record(currentThread()) }
      }
      let counter = Counter()
      await counter.addWithoutSuspending()
      for thread in await counter.threads { threads.record(thread) }
      threads.record(currentThread())
    }
    #expect(threads.elements.count == 9)
    #expect(Set(threads.elements) == [currentThread()])
  }

  /// Tasks that meet at an actor stay on the thread, and no turn is lost.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `Actors run on the calling thread`(seed: UInt64) throws {
    let (count, threads) = try SeededExecutor(seed: seed).run {
      let counter = Counter()
      await withTaskGroup { group in
        for _ in 0..<20 {
          group.addTask {
            await Task.yield()
            await counter.addWithoutSuspending()
          }
        }
      }
      return await (counter.count, counter.threads)
    }
    #expect(count == 20)
    #expect(threads == [currentThread()])
  }

  /// The lost update of a re-entrant actor: some seeds show it, others do not, and each seed always does the same.
  @Test func `Seeds find what the order decides`() throws {
    func count(seed: UInt64) throws -> Int {
      try SeededExecutor(seed: seed).run {
        let counter = Counter()
        await withTaskGroup { group in
          for _ in 0..<2 {
            group.addTask {
              await Task.yield()
              await counter.add()
            }
          }
        }
        return await counter.count
      }
    }
    let counts = try (0..<200 as Range<UInt64>).map(count)
    #expect(Set(counts) == [1, 2])
    #expect(try (0..<200 as Range<UInt64>).map(count) == counts)
  }

  @Test func `The surrounding task is unchanged`() async throws {
    try await Self.$local.withValue(1) {
      let task = withUnsafeCurrentTask { $0?.hashValue }
      let seen = try SeededExecutor(seed: 1).run { Self.local }
      #expect(seen == 1)
      #expect(Self.local == 1)
      #expect(withUnsafeCurrentTask { $0?.hashValue } == task)
      await Task.yield()
      #expect(Self.local == 1)
    }
  }

  @available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
  @Test func `The executor is found and passed on`() throws {
    let executor = SeededExecutor(seed: 1)
    let found = try executor.run {
      let preference = withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor?.asTaskExecutor() }
      let inherited = await Task(executorPreference: preference) {
        await Task.yield()
        let thread = currentThread()
        let again = withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor?.asTaskExecutor() }
        return (thread, again)
      }.value
      return (preference, inherited)
    }
    #expect(found.0 as? SeededExecutor === executor)
    #expect(found.1.0 == currentThread())
    #expect(found.1.1 as? SeededExecutor === executor)
  }

  @Test func `Without an executor there is none to pass on`() async {
    let preference = withUnsafeCurrentTask { $0?.unownedTaskExecutor == nil }
    #expect(preference == true)
  }

  @Test func `Sleeps pass in virtual time`() throws {
    let clock = ManualClock()
    let trace = Recorder<String>()
    try SeededExecutor(seed: 1, clock: clock).run {
      await withTaskGroup { group in
        for seconds in [3_600, 1, 86_400] {
          group.addTask {
            try? await clock.sleep(for: .seconds(seconds))
            trace.record("\(seconds): \(clock.now.offset)")
          }
        }
      }
      for _ in 0..<100 { try await clock.sleep(for: .seconds(1)) }
    }
    #expect(trace.elements == ["1: 1.0 seconds", "3600: 3600.0 seconds", "86400: 86400.0 seconds"])
    #expect(clock.now.offset == .seconds(86_500))
  }

  /// Sleepers of one deadline are ready together, and the seed decides who goes first.
  @Test func `The seed orders tasks that wake together`() throws {
    let orders = try (0..<50 as Range<UInt64>).map { seed in
      let clock = ManualClock()
      return try SeededExecutor(seed: seed, clock: clock).run {
        let woken = Recorder<Int>()
        await withTaskGroup { group in
          for sleeper in 0..<3 {
            group.addTask {
              try? await clock.sleep(until: ManualClock.Instant(offset: .seconds(1)))
              woken.record(sleeper)
            }
          }
        }
        return woken.elements
      }
    }
    #expect(Set(orders).count == 6)
  }

  @Test func `Time stands still for tasks left behind`() throws {
    let clock = ManualClock()
    let executor = SeededExecutor(seed: 1, clock: clock)
    let woken = Recorder<Int>()
    try executor.run {
      _ = Task(executorPreference: executor) {
        try await clock.sleep(for: .seconds(1))
        woken.record(1)
      }
    }
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    #expect(woken.elements == [])
    try executor.run {}
    #expect(woken.elements == [1])
  }

  /// In any order of sleeping, cancelling and advancing, each sleep ends once, one way or the other.
  @Test func `Each sleep ends once in any order`() throws {
    var ways: Set<String> = []
    for seed in 0..<1_000 as Range<UInt64> {
      let clock = ManualClock()
      let ends = try SeededExecutor(seed: seed).run {
        let ends = Recorder<String>()
        await withTaskGroup { group in
          let sleeper = group.addSleeper(clock, ends)
          group.addTask { sleeper.cancel() }
          group.addTask { clock.advance(by: .seconds(1)) }
          group.addTask { await clock.sleepers(atLeast: 0) }
        }
        return ends.elements
      }
      #expect(ends.count == 1)
      #expect(clock.sleeperCount == 0)
      ways.formUnion(ends)
    }
    #expect(ways == ["woken", "cancelled"])
  }
}

extension TaskGroup<Void> {
  /// Starts a task that sleeps for a second, awaited by the group, and gives the handle to cancel it.
  fileprivate mutating func addSleeper(_ clock: ManualClock, _ ends: Recorder<String>) -> Watched<Bool> {
    let cancelled = Watched(false)
    addTask {
      await withTaskGroup { group in
        group.addTask {
          do {
            try await clock.sleep(until: ManualClock.Instant(offset: .seconds(1)))
            ends.record("woken")
          } catch {
            ends.record("cancelled")
          }
        }
        group.addTask { await cancelled.wait { $0 } }
        await group.next()
        group.cancelAll()
      }
    }
    return cancelled
  }
}

extension Watched<Bool> {
  fileprivate func cancel() {
    mutate { $0 = true }
  }
}
