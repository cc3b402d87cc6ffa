// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Random orders of changes and consumers, against consumers that are plain arrays of keys.
@Suite(.timeLimit(.minutes(5)))
struct BroadcastSeedTests {
  private struct Consumer {
    let subscription: Broadcast<[Int], Int>.Subscription
    var pending: [Int]

    mutating func enqueue(_ key: Int) {
      pending.removeAll { $0 == key }
      pending.append(key)
    }
  }

  // G70
  @Test func `Consumers that come and go read what the reference says`() async {
    for seed in seeds(2_000) { await check(seed) }
  }

  private func check(_ seed: UInt64) async {
    var generator = SeededGenerator(seed: seed)
    let keys = Int.random(in: 1...6, using: &generator)
    var state = Array(repeating: 0, count: keys)
    let board = Broadcast<[Int], Int>(state)
    var consumers: [Consumer] = []
    for step in 1...Int.random(in: 1...60, using: &generator) {
      let key = Int.random(in: 0..<keys, using: &generator)
      switch Int.random(in: 0..<10, using: &generator) {
      case 0:
        let subscription = board.subscribe { state in state.indices.filter { state[$0] > 0 } }
        consumers.append(Consumer(subscription: subscription, pending: state.indices.filter { state[$0] > 0 }))
      case 1:
        if !consumers.isEmpty { consumers.remove(at: Int.random(in: consumers.indices, using: &generator)) }
      case 2:
        board.update { $0.retract(key) }
        for index in consumers.indices { consumers[index].pending.removeAll { $0 == key } }
      case 3...5:
        guard let index = consumers.indices.randomElement(using: &generator), !consumers[index].pending.isEmpty else {
          continue
        }
        let expected = consumers[index].pending.removeFirst()
        let read = await consumers[index].subscription.next { state, key in [key, state[key]] }
        #expect(read == [expected, state[expected]], "seed \(seed)")
      default:
        state[key] = step
        board.update { content in
          content.state[key] = step
          content.publish(key)
        }
        for index in consumers.indices { consumers[index].enqueue(key) }
      }
      #expect(board.update { $0.isObserved } == !consumers.isEmpty, "seed \(seed)")
    }
    board.update { $0.finish() }
    for consumer in consumers {
      for key in consumer.pending {
        #expect(
          await consumer.subscription.next { state, key in [key, state[key]] } == [key, state[key]],
          "seed \(seed)"
        )
      }
      #expect(await consumer.subscription.next { _, key in key } == nil, "seed \(seed): the end was lost")
    }
  }

  /// Producer and consumers interleave as the seed decides: no subscriber misses a change or the end.
  @Test func `No waiting subscriber is forgotten`() throws {
    for seed in seeds() {
      let counts = try SeededExecutor(seed: seed).run {
        let board = Broadcast<[Int], Int>(Array(repeating: 0, count: 4))
        return await withTaskGroup(of: [Int].self) { group in
          for consumer in 0..<3 {
            let subscription = board.subscribe { _ in [] }
            group.addTask {
              var last: [Int] = []
              var read = 0
              while let state = await subscription.next({ state, _ in state }) {
                #expect(zip(last, state).allSatisfy { $0 <= $1 }, "seed \(seed): went back")
                last = state
                read += 1
                if consumer == 0, read == 2 { return [] }
              }
              return last
            }
          }
          group.addTask {
            for step in 1...12 {
              board.update { content in
                content.state[step % 4] = step
                content.publish(step % 4)
              }
              if step.isMultiple(of: 3) { await Task.yield() }
            }
            board.update { $0.finish() }
            return []
          }
          return await group.reduce(into: [[Int]]()) { $0.append($1) }
        }
      }
      #expect(counts.filter { $0 == [12, 9, 10, 11] }.count == 2, "seed \(seed): \(counts)")
    }
  }
}
