// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import LegacyStepwise
import StepwiseTesting
import Testing

/// What edition 2 of Stepwise added.
@Suite(.timeLimit(.minutes(5)))
struct SecondEditionTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test func `Steps take an input and return a value`() async {
    toStep { (text: String) -> Int in text.utf8.count }
      .then { number in number * 2 }
      .then { number in seen.record("\(number)") }
      .start("four")

    #expect(await seen.elements(atLeast: 1) == ["8"])
  }

  @available(*, deprecated)
  @Test func `Steps throw`() async {
    toStep { () -> String in throw Fault("no") }
      .then { text in seen.record(text) }
      .onError { error in seen.record("\(error)") }
      .start()

    #expect(await seen.elements(atLeast: 1) == ["no"])
  }

  @available(*, deprecated)
  @Test func `A handler fails the chain`() async {
    let failing = toStep { (text: String, handler: Handler<Int>) in
      DispatchQueue.global().async { handler.fail(Fault(text)) }
    }.onError { error in seen.record("\(error)") }
    failing.start("no")

    #expect(await seen.elements(atLeast: 1) == ["no"])
  }

  @available(*, deprecated)
  @Test func `A handler passes the input of the next step`() async {
    toStep { (text: String, handler: Handler<Int>) in
      DispatchQueue.global().async { handler.pass(text.utf8.count) }
    }.then { (number, handler: Handler<Void>) in
      seen.record("\(number)")
      handler.pass()
    }.then {
      seen.record("end")
    }.start("four")

    #expect(await seen.elements(atLeast: 2) == ["4", "end"])
  }

  @available(*, deprecated)
  @Test func `Functions are steps`() async {
    toStep(characterCount).then("double", body: doubled).then { number in seen.record("\(number)") }.start("four")

    #expect(await seen.elements(atLeast: 1) == ["8"])
  }

  @available(*, deprecated)
  @Test func `Steps run in their queue`() async {
    let key = DispatchSpecificKey<String>()
    let (first, second) = (DispatchQueue(label: "first"), DispatchQueue(label: "second"))
    first.setSpecific(key: key, value: "first")
    second.setSpecific(key: key, value: "second")
    let here: @Sendable () -> String = { DispatchQueue.getSpecific(key: key) ?? "none" }

    let returning = toStep(named: "a", inQueue: first) { () -> String in here() }
      .then("b", inQueue: second) { before in before + " " + here() }
      .then(inQueue: first) { before in before + " " + here() }
    let resolving =
      returning
      .then("d", inQueue: second) { (before, handler: Handler<String>) in handler.pass(before + " " + here()) }
      .then(name: "e", queue: first) { (step: Step<String, String>) in step.resolve(step.input + " " + here()) }
      .then(name: "f", queue: second) { (step: Step<String, String>) in step.resolve(step.input + " " + here()) }
    resolving
      .then("g") { before in before + " " + here() }
      .then { before in seen.record(before + " " + here()) }
      .start()

    #expect(await seen.elements(atLeast: 1) == ["first second first second first second none none"])
  }

  @available(*, deprecated)
  @Test func `Steps run in the main queue`() async {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    toStep { 1 }
      .then(inQueue: .main) { _ in seen.record("\(DispatchQueue.getSpecific(key: key) ?? false)") }
      .start()

    #expect(await seen.elements(atLeast: 1) == ["true"])
  }

  @available(*, deprecated)
  @Test func `A running step chooses how to continue`() async {
    let small = toStep { (data: NSData) in seen.record("small, \(data.length)") }
    let large = toStep { (data: NSData) in seen.record("large, \(data.length)") }
    for count in [3, 300, 4] {
      toStep { (step: Step<NSData, NSData>) in
        step.resolve(step.input, then: step.input.length > 100 ? large : small)
      }.then { (_: NSData) in
        seen.record("what followed is replaced")
      }.finally { state in seen.record("\(state.resolved)") }.start(NSData(data: Data(count: count)))
    }

    #expect(await seen.elements(atLeast: 6).sorted() == ["large, 300", "small, 3", "small, 4", "true", "true", "true"])
  }

  @available(*, deprecated)
  @Test func `A step continues with its own chain repeatedly`() async {
    let chains = Recorder<StepChain<Int, Int, Int, Int>>()
    let countdown = toStep { (step: Step<Int, Int>) in
      guard let chain = chains.elements.first else { return }
      if step.input == 0 { step.resolve(0) } else { step.resolve(step.input - 1, then: chain) }
    }
    chains.record(countdown)
    countdown.finally { state in
      if case .Resolved(let value) = state { seen.record("\(value)") }
    }.start(1_000)

    #expect(await seen.elements(atLeast: 1) == ["0"])
  }

  @available(*, deprecated)
  @Test func `Debug logging prints each step`() async {
    let output = DebugLog.output
    DebugLog.output = { [seen] line in if line.contains("logged") { seen.record(line) } }
    StepDebugLoggingEnabled = true
    defer {
      StepDebugLoggingEnabled = false
      DebugLog.output = output
    }
    #expect(StepDebugLoggingEnabled)
    let ends = Recorder<Bool>()
    toStep(named: "logged 1") { (number: Int) in number + 1 }
      .then("logged 2") { (_: Int) -> Int in throw Fault("no") }
      .finally { _ in ends.record(true) }
      .start(1)

    await ends.elements(atLeast: 1)
    #expect(
      seen.elements == [
        "Starting [Step 'logged 1'] with input: 1", "Resolved [Step 'logged 1'] with output: 2",
        "Starting [Step 'logged 2'] with input: 2", "[Step 'logged 2'] errored: no",
      ]
    )
  }
}

private func characterCount(_ text: String) -> Int { text.count }
private func doubled(_ number: Int) -> Int { number * 2 }
