// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Several consumers of one run.
@Suite(.timeLimit(.minutes(5)))
struct SharedStagesTests {
  private let log = Recorder<Int>()

  private func work(last: Int = 5) -> Scripted {
    Scripted(last: last) { [log] in log.record($0) }
  }

  @Test(arguments: [StageSharing.everyStage, .latest])
  func `One consumer sees every stage of one run`(sharing: StageSharing) async throws {
    let shared = work().stages.shared(sharing)
    var seen: [Int] = []
    for try await stage in shared { seen.append(stage.number) }
    #expect(seen == [0, 1, 2, 3, 4, 5])
    #expect(log.elements == [0, 1, 2, 3, 4])
  }

  @Test func `Several consumers share one run`() async throws {
    let shared = work().stages.shared(.everyStage)
    let start = Start(of: 4)
    let seen = try await withThrowingTaskGroup(of: [Int].self) { group in
      for _ in 0..<4 { group.addTask { try await shared.numbers(start) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(seen == Array(repeating: [0, 1, 2, 3, 4, 5], count: 4))
    #expect(log.elements == [0, 1, 2, 3, 4])
  }

  @Test func `Nothing runs before a consumer asks for a stage`() async throws {
    let shared = work().stages.shared(.latest)
    var consumer = shared.makeAsyncIterator()
    #expect(try await consumer.next()?.number == 0)
    #expect(log.elements.isEmpty)
    #expect(try await consumer.next()?.number == 1)
    #expect(log.elements == [0])
  }

  // G97
  @Test func `The slowest consumer paces the run`() async throws {
    let shared = work().stages.shared(.everyStage)
    var slow = shared.makeAsyncIterator()
    let seen = Recorder<Int>()
    let task = Task { try await shared.numbers { seen.record($0) } }
    await seen.elements(atLeast: 1)
    for number in 0...3 {
      #expect(try await slow.next()?.number == number)
      #expect(seen.elements.count <= number + 1)
      #expect(log.elements.count <= number)
    }
    _ = consume slow
    #expect(try await task.value == [0, 1, 2, 3, 4, 5])
  }

  // G97
  @Test func `With the latest stage, slow consumers skip to the newest`() async throws {
    let shared = work(last: 100).stages.shared(.latest)
    var slow = shared.makeAsyncIterator()
    var fast = shared.makeAsyncIterator()
    #expect(try await slow.next()?.number == 0)
    for number in 0...50 { #expect(try await fast.next()?.number == number) }
    #expect(try await slow.next()?.number == 50)
    while try await fast.next() != nil {}
    // The last stage is never skipped.
    #expect(try await slow.next()?.number == 100)
    #expect(try await slow.next() == nil)
  }

  @Test(arguments: [StageSharing.everyStage, .latest])
  func `A late consumer begins at the newest stage`(sharing: StageSharing) async throws {
    let shared = work().stages.shared(sharing)
    var early = shared.makeAsyncIterator()
    for _ in 0...2 { _ = try await early.next() }
    var late = shared.makeAsyncIterator()
    #expect(try await late.next()?.number == 2)
    _ = consume early
    #expect(try await late.next()?.number == 3)
    while try await late.next() != nil {}
    var tooLate = shared.makeAsyncIterator()
    #expect(try await tooLate.next()?.number == 5)
    #expect(try await tooLate.next() == nil)
  }

  // G98
  /// One waiter's cancel does not cancel a shared result.
  @Test(arguments: [StageSharing.everyStage, .latest])
  func `A cancelled consumer leaves the others alone`(sharing: StageSharing) async throws {
    let gate = Once<Void>()
    let entered = Once<Void>()
    let shared = Scripted(last: 2) { _ in
      entered.settle(())
      await gate.valueIgnoringCancellation()
      try Task.checkCancellation()
    }.stages.shared(sharing)
    let start = Start(of: 2)
    let tasks = (0..<2).map { _ in Task { try await shared.numbers(start) } }
    await entered.valueIgnoringCancellation()
    tasks[0].cancel()
    await #expect(throws: CancellationError.self) { try await tasks[0].value }
    gate.settle(())
    #expect(try await tasks[1].value == [0, 1, 2])
  }

  // G98
  @Test func `The run ends when the last consumer has left`() async throws {
    let (entered, cancelled) = (Once<Void>(), Once<Void>())
    let shared = Scripted(last: 3) { _ in
      entered.settle(())
      await CancellationToken().waitForCancellation()
      cancelled.settle(())
    }.stages.shared(.latest)
    let task = Task { try await shared.numbers() }
    await entered.valueIgnoringCancellation()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await cancelled.valueIgnoringCancellation()
    var late = shared.makeAsyncIterator()
    #expect(try await late.next()?.number == 0)
    await #expect(throws: CancellationError.self) { try await late.next() }
    #expect(try await late.next() == nil)
  }

  /// Iteration that is abandoned frees the producer.
  @Test(arguments: [StageSharing.everyStage, .latest])
  func `Abandoned work is released`(sharing: StageSharing) async throws {
    let tracker = LifetimeTracker()
    do {
      let tracked = tracker.track()
      let shared = Scripted(last: 100) { _ in _ = tracked }.stages.shared(sharing)
      for try await stage in shared where stage.number == 3 { break }
    }
    await tracker.allReleased()
  }

  /// A user's object may die with the stage that held it, and may look at the stages then.
  @Test func `A superseded stage is released outside the lock`() async throws {
    let seen = Recorder<Int>()
    let stages = Once<any AsyncSequence<Holding, any Error> & Sendable>()
    let shared = Holding(number: 0) { number in
      AtEnd {
        seen.record(number)
        _ = stages.settled?.makeAsyncIterator()
      }
    }.stages.shared(.latest)
    stages.settle(shared)
    var consumer = shared.makeAsyncIterator()
    while let stage = try await consumer.next(), stage.number < 3 {}
    #expect(seen.elements.prefix(2) == [1, 2])
  }

  @Test func `An error is thrown to all`() async throws {
    let shared = Scripted { if $0 == 1 { throw Fault(1) } }.stages.shared(.everyStage)
    let start = Start(of: 3)
    await withTaskGroup { group in
      for _ in 0..<3 {
        group.addTask { await #expect(throws: Fault(1)) { try await shared.numbers(start) } }
      }
    }
  }

  @Test func `A token around the first consumer stops only that one`() async throws {
    let token = CancellationToken()
    let chain = Chain { (number: Int) in number }
    let shared = Scripted(last: 3) { _ = try await chain.run($0) }.stages.shared(.latest)
    let begun = Once<Void>()
    let first = Task {
      try await withCancellation(by: token) {
        try await shared.numbers {
          if $0 == 1 { begun.settle(()) }
          if $0 == 1 { await token.waitForCancellation() }
        }
      }
    }
    await begun.valueIgnoringCancellation()
    var second = shared.makeAsyncIterator()
    #expect(try await second.next()?.number == 1)
    token.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(try await second.next()?.number == 2)
    #expect(try await second.next()?.number == 3)
    #expect(try await second.next() == nil)
  }
}

/// Each stage but the first holds an object of its own.
private struct Holding: Progression {
  let number: Int
  var object: AtEnd?
  let make: @Sendable (Int) -> AtEnd

  init(number: Int, object: AtEnd? = nil, _ make: @escaping @Sendable (Int) -> AtEnd) {
    self.number = number
    self.object = object
    self.make = make
  }

  func next() async throws -> Holding { Holding(number: number + 1, object: make(number + 1), make) }

  var result: Int? { number == 5 ? number : nil }
}
