// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct OnceTests {
  @Test func `Many tasks wait for one value`() async {
    let once = Once<Int>()
    let values = await withTaskGroup(of: Int?.self) { group in
      for index in 0..<100 {
        group.addTask { index.isMultiple(of: 2) ? await once.value() : await once.valueIgnoringCancellation() }
      }
      group.addTask {
        #expect(once.settle(7))
        #expect(!once.settle(8))
        return 7
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values.count == 101)
    #expect(values.allSatisfy { $0 == 7 })
    #expect(once.settled == 7)
  }

  @Test func `A waiter that is cancelled early gets nothing`() async {
    let once = Once<Int>()
    let value = await cancelled { await once.value() }
    #expect(value == nil)
    #expect(once.settle(1), "the others are not touched by it")
  }

  @Test func `A waiter that is cancelled late gets nothing`() async {
    for seed in 0..<100 as Range<UInt64> {
      let once = Once<Int>()
      let value = try? SeededExecutor(seed: seed).run {
        await withTaskGroup(of: Int?.self) { group in
          group.addTask { await once.value() }
          await Task.yield()
          group.cancelAll()
          return await group.next() ?? 0
        }
      }
      #expect(value == .some(nil), "seed \(seed)")
    }
  }

  @Test func `An existing value reaches a cancelled task, too`() async {
    let once = Once<Int>()
    once.settle(3)
    #expect(await cancelled { await once.value() } == 3)
  }

  @Test func `A wait that ignores cancellation continues when cancelled`() async {
    let once = Once<Int>()
    let waiting = Recorder<Int>()
    let task = Task {
      waiting.record(0)
      return await once.valueIgnoringCancellation()
    }
    await waiting.elements(atLeast: 1)
    task.cancel()
    once.settle(5)
    #expect(await task.value == 5)
  }

  @Test func `Cancelling one waiter leaves the others waiting`() async throws {
    for seed in seeds(500) {
      let once = Once<Int>()
      let results = try SeededExecutor(seed: seed).run {
        await withTaskGroup(of: (Int, Int?).self) { group in
          for index in 0..<3 { group.addTask { (index, await once.value()) } }
          group.addTask {
            let inner = spawn { await once.value() }
            inner.cancel()
            return (3, await inner.value)
          }
          group.addTask {
            await Task.yield()
            once.settle(9)
            return (4, 9)
          }
          return await group.reduce(into: [Int: Int?]()) { $0[$1.0] = .some($1.1) }
        }
      }
      for index in 0..<3 { #expect(results[index] == .some(9), "seed \(seed)") }
      #expect([.some(nil), .some(9)].contains(results[3]), "seed \(seed)")
    }
  }

  private func cancelled(_ body: @escaping @Sendable () async -> Int?) async -> Int? {
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await body()
    }.value
  }
}
