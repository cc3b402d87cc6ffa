// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct BroadcastTests {
  typealias Board = Broadcast<[Int: Int], Int>

  @Test
  func `A subscriber reads each key's newest state in order of change`() async {
    let board = Board([:])
    let consumer = board.subscribe { _ in [] }
    for (key, value) in [(1, 10), (2, 20), (3, 30), (1, 11)] { board.set(key, value) }
    board.update { $0.finish() }
    #expect(await consumer.rest() == ["2 20", "3 30", "1 11"])
  }

  // G70
  @Test func `A late subscriber receives the current state`() async {
    let board = Board([:])
    for key in 0..<3 { board.set(key, key) }
    let consumer = board.subscribe { $0.keys.sorted() }
    board.set(0, 5)
    board.update { $0.finish() }
    #expect(await consumer.rest() == ["1 1", "2 2", "0 5"])
  }

  @Test func `A retracted change is not delivered`() async {
    let board = Board([:])
    let consumer = board.subscribe { _ in [] }
    board.set(1, 1)
    board.set(2, 2)
    board.update { $0.retract(1) }
    board.update { $0.finish() }
    #expect(await consumer.rest() == ["2 2"])
  }

  // G70
  @Test func `The end is delivered last and never lost`() async {
    let board = Board([:])
    let early = board.subscribe { _ in [] }
    board.set(1, 1)
    board.update { $0.finish() }
    board.set(2, 2)
    #expect(await early.rest() == ["1 1"], "nothing follows the end")
    #expect(await early.rest() == [])
    let late = board.subscribe { $0.keys.sorted() }
    #expect(await late.rest() == ["1 1", "2 2"])
  }

  @Test func `A waiting consumer is woken`() async {
    let board = Board([:])
    let reported = Recorder<String>()
    let consumer = board.subscribe { _ in [] }
    let task = Task { while let line = await consumer.line() { reported.record(line) } }
    for value in 1...100 {
      board.set(0, value)
      await reported.elements(atLeast: value)
    }
    board.update { $0.finish() }
    await task.value
    #expect(reported.elements == (1...100).map { "0 \($0)" })
  }

  @Test func `A cancelled consumer leaves the others alone`() async {
    let board = Board([:])
    let first = board.subscribe { _ in [] }
    let second = board.subscribe { _ in [] }
    let waiting = Task { await first.line() }
    waiting.cancel()
    #expect(await waiting.value == nil)
    board.set(1, 1)
    board.update { $0.finish() }
    #expect(await second.rest() == ["1 1"])
  }

  @Test func `A released subscription is removed`() {
    let board = Board([:])
    do {
      let consumer = board.subscribe { _ in [] }
      withExtendedLifetime(consumer) { #expect(board.update { $0.isObserved }) }
    }
    #expect(!board.update { $0.isObserved })
  }

  @Test func `Iteration abandoned by break frees the consumer`() async {
    let board = Board([:])
    let lines = Lines(board: board)
    board.set(1, 1)
    board.set(2, 2)
    for await line in lines {
      #expect(line == "1 1")
      #expect(board.update { $0.isObserved })
      break
    }
    #expect(!board.update { $0.isObserved })
  }

  /// With a copy of all pending keys at each change this would take minutes.
  @Test func `Pending elements of a slow consumer are not copied`() async {
    let board = Broadcast<Int, Int>(0)
    let slow = board.subscribe { _ in [] }
    let other = board.subscribe { _ in [] }
    for key in 0..<100_000 { board.update { $0.publish(key) } }
    board.update { $0.finish() }
    for consumer in [slow, other] {
      var count = 0
      while await consumer.next({ _, _ in true }) != nil { count += 1 }
      #expect(count == 100_000)
    }
  }

  // G71
  @Test func `Memory is bounded by the keys`() async {
    let board = Board([:])
    let slow = board.subscribe { _ in [] }
    for value in 0..<100_000 { board.set(value % 3, value) }
    board.update { $0.finish() }
    #expect(await slow.rest() == ["0 99999", "1 99997", "2 99998"].sorted { $0.suffix(1) < $1.suffix(1) })
  }

  private struct Lines: AsyncSequence {
    typealias Element = String
    let board: Board

    func makeAsyncIterator() -> Iterator { Iterator(subscription: board.subscribe { $0.keys.sorted() }) }

    struct Iterator: AsyncIteratorProtocol {
      let subscription: Board.Subscription

      mutating func next() async -> String? { await subscription.line() }
    }
  }
}

extension Broadcast<[Int: Int], Int> {
  fileprivate func set(_ key: Int, _ value: Int) {
    update { content in
      content.state[key] = value
      content.publish(key)
    }
  }
}

extension Broadcast<[Int: Int], Int>.Subscription {
  fileprivate func line() async -> String? {
    await next { state, key in state[key].map { "\(key) \($0)" } }
  }

  fileprivate func rest() async -> [String] {
    var lines: [String] = []
    while let line = await line() { lines.append(line) }
    return lines
  }
}
