// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct WatchedTests {
  @Test func `Waiting returns immediately when the condition holds`() async {
    let watched = Watched(1)
    await watched.wait { $0 == 1 }
    #expect(watched.read { $0 } == 1)
  }

  @Test func `The body's value is returned`() {
    let watched = Watched([1])
    #expect(watched.mutate { $0.removeLast() } == 1)
    #expect(watched.read(\.isEmpty))
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `Waiters whose condition holds are woken`(seed: UInt64) throws {
    let woken = try SeededExecutor(seed: seed).run {
      let watched = Watched(0)
      let woken = Recorder<Int>()
      await withTaskGroup { group in
        for goal in 1...5 {
          group.addTask {
            await watched.wait { $0 >= goal }
            woken.record(goal)
          }
        }
        for goal in 1...5 {
          watched.mutate { $0 = goal }
          await woken.elements(atLeast: goal)
        }
      }
      return woken.elements
    }
    #expect(woken == [1, 2, 3, 4, 5])
  }

  @Test func `A wait that is cancelled before returns early`() async {
    let watched = Watched(0)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await watched.wait { $0 > 0 }
    }
    await task.value
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `A wait that is cancelled at any moment returns early`(seed: UInt64) throws {
    try SeededExecutor(seed: seed).run {
      let watched = Watched(0)
      await withTaskGroup { group in
        group.addTask { await watched.wait { $0 > 0 } }
        await Task.yield()
        group.cancelAll()
      }
    }
  }

  /// Change and cancel race on real threads: every waiter returns, and the continuation is resumed once.
  @Test func `A wait returns once when change and cancel race`() async {
    for _ in 0..<2_000 {
      let watched = Watched(0)
      await withTaskGroup { group in
        let waiting = Task { await watched.wait { $0 > 0 } }
        group.addTask { watched.mutate { $0 = 1 } }
        group.addTask { waiting.cancel() }
        group.addTask { await waiting.value }
      }
    }
  }

  @Test @MainActor func `A wait stays on the caller's actor`() async {
    let watched = Watched(0)
    let task = Task { await watched.wait { $0 > 0 } }
    watched.mutate { $0 = 1 }
    await task.value
    MainActor.assertIsolated()
  }
}
