// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyStepwise
import StepwiseTesting
import Testing

/// Where and in which order steps and handlers run.
///
/// The same source ran on Stepwise 2.1, and the expectations are what it did.
@Suite(.timeLimit(.minutes(5)))
struct StepwiseQueueTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test func `Chains started in order on a serial queue run in order`() {
    for _ in 0..<max(1, rounds / 100) {
      let queue = DispatchQueue(label: "serial")
      var order: [Int] = []
      for number in 0..<5_000 {
        toStep(inQueue: queue) { (number: Int) in order.append(number) }.start(number)
      }
      let outOfOrder = queue.sync { zip(order, order.dropFirst()).filter { $0 > $1 }.count }
      #expect(order.count == 5_000 && outOfOrder == 0)
    }
  }

  @available(*, deprecated)
  @Test func `A read that starts after a write runs after it`() {
    for _ in 0..<300 {
      let queue = DispatchQueue(label: "serial")
      var order: [String] = []
      let write = toStep(inQueue: queue) { (_: Int) in order.append("write") }
      let read = toStep(inQueue: queue) { (_: Int) in order.append("read") }
      write.start(1)
      read.start(1)
      #expect(queue.sync { order } == ["write", "read"])
    }
  }

  @available(*, deprecated)
  @Test func `A step is enqueued before the previous one returns`() {
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    for _ in 0..<300 {
      var order: [String] = []
      toStep(inQueue: first) { (_: Int) in order.append("1") }.then(inQueue: second) { order.append("2") }.start(1)
      first.sync {}
      #expect(second.sync { order } == ["1", "2"])
    }
  }

  @available(*, deprecated)
  @Test func `onError and finally run in the queue of the step that throws`() async {
    toStep(inQueue: NamedQueue.make("first")) { (number: Int) -> Int in number }
      .then(inQueue: NamedQueue.make("second")) { (_: Int) -> Int in throw Fault("no") }
      .onError { _ in seen.record("error in \(NamedQueue.current)") }
      .finally { _ in seen.record("finally in \(NamedQueue.current)") }
      .start(1)

    #expect(await seen.elements(atLeast: 2) == ["error in second", "finally in second"])
  }

  @available(*, deprecated)
  @Test func `Handlers of a step in the main queue run in the main queue`() async {
    NamedQueue.name(.main, "main")
    toStep(inQueue: .main) { (_: Int) -> Int in throw Fault("no") }
      .onError { _ in seen.record(NamedQueue.current) }
      .finally { _ in seen.record(NamedQueue.current) }
      .start(1)

    #expect(await seen.elements(atLeast: 2) == ["main", "main"])
  }

  // Also before the call of the handler returns.
  @available(*, deprecated)
  @Test func `A handler runs what follows on the calling thread`() async {
    let callback = NamedQueue.make("callback")
    toStep(inQueue: NamedQueue.make("step")) { (fails: Bool, handler: Handler<Int>) in
      callback.async {
        if fails { handler.fail(Fault("no")) } else { handler.pass(1) }
        seen.record("called")
      }
    }
    .onError { _ in seen.record("error in \(NamedQueue.current)") }
    .finally { _ in seen.record("finally in \(NamedQueue.current)") }
    .start(true)
    .start(false)

    let expected = ["error in callback", "finally in callback", "called", "finally in callback", "called"]
    #expect(await seen.elements(atLeast: 5) == expected)
  }

  @available(*, deprecated)
  @Test func `A chain that is cancelled early ends before start returns`() {
    let chain = toStep { (_: Int) in seen.record("step") }.finally { state in seen.record("canceled: \(state.canceled)")
    }
    chain.cancellationToken.cancel()
    chain.start(1)
    seen.record("started")

    #expect(seen.elements == ["canceled: true", "started"])
  }

  @available(*, deprecated)
  @Test func `A cancel between two steps ends the chain in the queue of the first`() async {
    let tokens = Recorder<CancellationToken>()
    let chain = toStep(inQueue: NamedQueue.make("first")) { (number: Int) -> Int in
      tokens.elements.first?.cancel()
      return number
    }
    .then(inQueue: NamedQueue.make("second")) { _ in seen.record("second") }
    .finally { state in seen.record("canceled: \(state.canceled) in \(NamedQueue.current)") }
    tokens.record(chain.cancellationToken)
    chain.start(1)

    #expect(await seen.elements(atLeast: 1) == ["canceled: true in first"])
  }
}
