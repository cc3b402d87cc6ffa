// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyStepwise
import StepwiseTesting
import Testing

/// Each spelling of the two editions compiles, and does what its arguments say.
@Suite(.timeLimit(.minutes(5)))
struct StepwiseSpellingTests {
  let seen = Recorder<String>()
  let queue = NamedQueue.make("queue")

  @available(*, deprecated)
  @Test func `Edition 1 has no labels in toStep`() async {
    let (queue, seen) = (queue, seen)
    toStep(queue) { (step: Step<Int, Void>) in
      seen.record("\(step.input) in \(NamedQueue.current)")
      step.resolve()
    }.start(1)
    await seen.elements(atLeast: 1)
    toStep("n") { (step: Step<Int, Void>) in
      seen.record("\(step.input) in \(NamedQueue.current)")
      step.resolve()
    }.start(2)
    await seen.elements(atLeast: 2)
    toStep("n", queue) { (step: Step<Int, Void>) in
      seen.record("\(step.input) in \(NamedQueue.current)")
      step.resolve()
    }.start(3)

    #expect(await seen.elements(atLeast: 3) == ["1 in queue", "2 in another queue", "3 in queue"])
  }

  @available(*, deprecated)
  @Test func `Edition 1 labels then`() async {
    toStep { (step: Step<Int, Int>) in
      step.resolve(step.input)
    }.then(name: "n") { (step: Step<Int, Int>) in
      seen.record(NamedQueue.current)
      step.resolve(step.input)
    }.then(queue: queue) { (step: Step<Int, Int>) in
      seen.record(NamedQueue.current)
      step.resolve(step.input)
    }.then(name: "n", queue: queue) { (step: Step<Int, Void>) in
      seen.record(NamedQueue.current)
      step.resolve()
    }.start(1)

    #expect(await seen.elements(atLeast: 3) == ["another queue", "queue", "queue"])
  }

  @available(*, deprecated)
  @Test func `The error of edition 1 has a code, a domain and details`() async {
    toStep { (step: Step<Int, Int>) in
      step.error(NSError(domain: "com.my.domain", code: -1, userInfo: ["key": "value"]))
    }.onError { error in
      seen.record("\(error.code) \(error.domain) \(error.userInfo["key"] ?? "none")")
    }.finally { state in
      if case .Errored(let e) = state { seen.record("\(e.code) \(e.domain)") }
    }.start(1)

    #expect(await seen.elements(atLeast: 2) == ["-1 com.my.domain value", "-1 com.my.domain"])
  }

  @available(*, deprecated)
  final class Screen {
    weak var step: Step<Int, Int>?
  }

  @available(*, deprecated)
  @Test func `A step may be referenced weakly`() async {
    let callbacks = Recorder<@Sendable () -> Void>()
    toStep { (step: Step<Int, Int>) in
      let screen = Screen()
      screen.step = step
      seen.record("\(screen.step?.input ?? 0)")
      callbacks.record { step.resolve(2) }
    }.then { (step: Step<Int, Void>) in
      seen.record("\(step.input)")
      step.resolve()
    }.start(1)
    await callbacks.elements(atLeast: 1).first?()

    #expect(await seen.elements(atLeast: 2) == ["1", "2"])
  }

  // Each closure has statements, so that the compiler does not look into it to choose an overload.
  @available(*, deprecated)
  @Test func `Steps of several statements in edition 1 need no more types`() async {
    let chain = toStep { (step: Step<Void, String>) in
      seen.record("1")
      step.resolve("two")
    }.then { (step: Step<String, Int>) in
      seen.record(step.input)
      step.resolve(3)
    }.then { (step: Step<Int, Void>) in
      seen.record("\(step.input)")
      step.resolve()
    }
    chain.start()

    #expect(await seen.elements(atLeast: 3) == ["1", "two", "3"])
  }

  @available(*, deprecated)
  @Test func `A closure that ignores its input is no step of edition 1`() async {
    toStep { (_: Int) in
      seen.record("1")
    }.then { _ in
      seen.record("2")
      seen.record("3")
    }.then {
      seen.record("4")
    }.start(1)

    #expect(await seen.elements(atLeast: 4) == ["1", "2", "3", "4"])
  }

  @available(*, deprecated)
  @Test func `Edition 2 labels the body`() async {
    let here: @Sendable (String) throws -> String = { text in text + NamedQueue.current + "," }
    let later: @Sendable (String, Handler<String>) -> Void = { text, handler in
      handler.pass(text + NamedQueue.current + ",")
    }
    toStep(named: "a", body: here)
      .then("b", body: here).then(inQueue: queue, body: here).then("c", inQueue: queue, body: here)
      .then("d", asyncBody: later).then(inQueue: queue, asyncBody: later).then("e", inQueue: queue, asyncBody: later)
      .then { text in seen.record(text) }
      .start("")
    toStep(inQueue: queue, body: here).then { text in seen.record(text) }.start("")
    toStep(named: "f", inQueue: queue, asyncBody: later).then { text in seen.record(text) }.start("")
    toStep(inQueue: queue, asyncBody: later).then { text in seen.record(text) }.start("")
    toStep(named: "g", asyncBody: later).then { text in seen.record(text) }.start("")

    let expected = [
      "another queue,", "another queue,another queue,queue,queue,another queue,queue,queue,", "queue,", "queue,",
      "queue,",
    ]
    #expect(await seen.elements(atLeast: 5).sorted() == expected)
  }

  @available(*, deprecated)
  @Test func `The reason of a token may be assigned`() {
    let token = toStep { 1 }.cancellationToken
    token.reason = "assigned"
    #expect(token.reason == "assigned" && !token.cancelled)
    token.cancel("cancelled")
    #expect(token.reason == "cancelled" && token.cancelled)
    token.reason = "assigned again"
    #expect(token.reason == "assigned again")
  }
}
