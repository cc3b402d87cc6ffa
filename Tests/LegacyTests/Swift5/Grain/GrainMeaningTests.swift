// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyGrain
import StepwiseTesting
import Testing

/// When and where work is done, and in which order.
///
/// The same source ran on Grain's last version, and the expectations are what it did.
@Suite(.timeLimit(.minutes(5)))
struct GrainMeaningTests {
  let seen = Recorder<String>()
  let queue = NamedQueue.make("queue")

  @available(*, deprecated)
  func record<Result>(_ useResult: () throws -> Result) {
    do { seen.record("\(try useResult())") } catch { seen.record("error: \(error)") }
  }

  @available(*, deprecated)
  var work: Deferred<Int> {
    Deferred { [seen] in
      seen.record("work in \(NamedQueue.current)")
      return 1
    }
  }

  // MARK: - Units

  @available(*, deprecated)
  @Test func `A unit is performed where its result is used`() async {
    let seen = seen
    work >>=
      queue + { useResult in
        seen.record("handler")
        _ = try? useResult()
      }
    #expect(await seen.elements(atLeast: 2) == ["handler", "work in queue"])
  }

  @available(*, deprecated)
  @Test func `A unit whose result is not used is not performed`() {
    work.perform { _ in seen.record("performed") }
    work.map { $0 + 1 }.perform { _ in seen.record("mapped") }
    #expect(seen.elements == ["performed", "mapped"])
  }

  @available(*, deprecated)
  @Test func `A unit is performed each time its result is used`() {
    work.map { number in number + 1 }.perform { useResult in
      record(useResult)
      record(useResult)
    }
    #expect(seen.elements == ["work in another queue", "2", "work in another queue", "2"])
  }

  @available(*, deprecated)
  @Test func `A unit with a queue is performed in the queue`() async {
    (work + queue).perform { useResult in record(useResult) }
    #expect(await seen.elements(atLeast: 2) == ["work in queue", "1"])
  }

  @available(*, deprecated)
  @Test func `flatMap of a unit calls its function immediately`() {
    let deferred: Deferred<Int> = work.flatMap { useResult in
      seen.record("transform")
      return Deferred { try useResult() }
    }
    seen.record("composed")
    deferred.perform { useResult in record(useResult) }
    #expect(seen.elements == ["transform", "composed", "work in another queue", "1"])
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func `A function that ignores its result is called even after an error`(isUnit: Bool)
  {
    let failing: Deferred<Int> =
      isUnit ? Deferred(throwing: Fault("no")) : Deferred.future { resolve in resolve { throw Fault("no") } }
    let next: Deferred<Int> =
      failing >>= { _ in
        seen.record("transform")
        return Deferred { 7 }
      }
    next.perform { useResult in record(useResult) }
    #expect(seen.elements == ["transform", "7"])
  }

  @available(*, deprecated)
  @Test func `The first of two units is performed when they are combined`() {
    let both = work & Deferred { "second" }
    seen.record("composed")
    both.perform { useResult in record(useResult) }
    #expect(seen.elements == ["work in another queue", "composed", #"(1, "second")"#])
  }

  // MARK: - Futures

  @available(*, deprecated)
  @Test func `A future that is never resolved is an error`() {
    Deferred<Int>.future { _ in }.perform { useResult in record(useResult) }
    Deferred<Int>.future { _ in }.map { $0 + 1 }.flatMap { use in Deferred { try use() } }
      .perform { useResult in record(useResult) }
    #expect(seen.elements.count == 2)
    #expect(seen.elements.allSatisfy { $0.contains("error: ") && $0.contains("Deferred.future") })
  }

  @available(*, deprecated)
  @Test func `A future that is still retained can be resolved later`() {
    let callbacks = Recorder<@Sendable () -> Void>()
    Deferred<Int>.future { resolve in callbacks.record { resolve { 1 } } }.perform { useResult in record(useResult) }
    #expect(seen.elements.isEmpty)
    callbacks.elements.first?()
    #expect(seen.elements == ["1"])
  }

  // MARK: - Progressions

  @available(*, deprecated)
  @Test func `Progressions performed on a serial queue keep their order`() {
    for _ in 0..<max(1, rounds / 100) {
      let queue = DispatchQueue(label: "serial")
      var order: [Int] = []
      for number in 0..<5_000 {
        (Countdown.at(0) / queue).map { _ in number }.perform { useResult in order.append((try? useResult()) ?? -1) }
      }
      let outOfOrder = queue.sync { zip(order, order.dropFirst()).filter { $0 > $1 }.count }
      #expect(order.count == 5_000 && outOfOrder == 0)
    }
  }

  @available(*, deprecated)
  @Test func `A stage is enqueued before perform returns`() {
    for _ in 0..<200 {
      let queue = DispatchQueue(label: "serial")
      let stages = Recorder<Int>()
      Counting(number: 1, stages: stages).deferred(queue: queue).perform { _ in }
      #expect(queue.sync { stages.elements } == [1])
    }
  }

  @available(*, deprecated)
  @Test func `A progression runs each time it is performed`() {
    let stages = Recorder<Int>()
    let deferred = Counting(number: 2, stages: stages).deferred(queue: queue)
    #expect(queue.sync { stages.elements }.isEmpty)
    for _ in 0..<2 {
      deferred.perform { _ in }
      while queue.sync(execute: { stages.elements.count % 2 != 0 || stages.elements.isEmpty }) {}
    }
    #expect(stages.elements == [2, 1, 2, 1])
  }

  @available(*, deprecated)
  @Test func `An error arrives where it is thrown`() async {
    let failing = Deferred<Countdown>.future { resolve in
      NamedQueue.make("callback").async { resolve { throw Fault("no") } }
    }
    Held.Failing(failing: failing).deferred(queue: queue).perform { useResult in
      record(useResult)
      seen.record(NamedQueue.current)
    }
    #expect(await seen.elements(atLeast: 2) == ["error: no", "callback"])
    Countdown.failing.deferred(queue: queue).perform { useResult in
      record(useResult)
      seen.record(NamedQueue.current)
    }
    #expect(await seen.elements(atLeast: 4).suffix(2) == ["error: failing", "queue"])
  }

  @available(*, deprecated)
  @Test func `The next stage of an updating stage is lazy`() {
    let stages = Recorder<Int>()
    let next = Counting(number: 2, stages: stages).next()
    #expect(stages.elements.isEmpty)
    next.perform { _ in }
    #expect(stages.elements == [2])
  }

  // The original's stack was full; the stages of a performer that runs its work at once nested.
  @available(*, deprecated)
  @Test func `A performer may run its work immediately`() {
    Countdown.at(100_000).deferred(performer: { work in work() }).perform { useResult in record(useResult) }
    #expect(seen.elements == ["zero"])
  }
}

/// Counts down in place, and records its stages.
@available(*, deprecated)
private struct Counting: Progression {
  var number: Int
  let stages: Recorder<Int>

  mutating func updateOrDeferNext() -> Deferred<Counting>? {
    stages.record(number)
    number -= 1
    return nil
  }

  var result: Bool? { number == 0 ? true : nil }
}

@available(*, deprecated)
extension Held {
  /// Has a next stage that fails later.
  fileprivate struct Failing: Progression {
    let failing: Deferred<Countdown>

    func next() -> Deferred<Failing> { failing.map { _ in self } }

    var result: Int? { nil }
  }
}
