// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import LegacyStepwise
import StepwiseTesting
import Testing

/// How chains, handlers and tokens of the original behave.
@Suite(.timeLimit(.minutes(5)))
struct StepChainTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test func `Only the latest error handler is called`() async {
    toStep { () -> Int in throw Fault("no") }
      .onError { _ in seen.record("first") }
      .then { _ in 1 }
      .onError { _ in seen.record("second") }
      .finally { _ in seen.record("end") }
      .start()

    #expect(await seen.elements(atLeast: 2) == ["second", "end"])
  }

  @available(*, deprecated)
  @Test func `Only the latest finally runs, at the very end`() async {
    toStep { 1 }
      .then { number in number }
      .finally { _ in seen.record("first") }
      .then { _ in seen.record("step") }
      .finally { _ in seen.record("second") }
      .then { () -> Int in throw Fault("no") }
      .onError { _ in seen.record("error") }
      .start()

    #expect(await seen.elements(atLeast: 3) == ["step", "error", "second"])
  }

  @available(*, deprecated)
  @Test func `Handlers count even if the result is ignored`() async {
    let chain = toStep { (number: Int) -> Int in number }
    chain.then { number in seen.record("\(number)") }
    chain.onError { _ in seen.record("error") }
    chain.finally { state in seen.record("resolved: \(state.resolved)") }
    chain.start(1)

    #expect(await seen.elements(atLeast: 2) == ["1", "resolved: true"])
  }

  @available(*, deprecated)
  @Test func `A second then replaces the first`() async {
    let chain = toStep { 1 }
    chain.then { _ in seen.record("first") }
    chain.then { _ in seen.record("second") }.finally { _ in seen.record("end") }
    chain.start()

    #expect(await seen.elements(atLeast: 2) == ["second", "end"])
  }

  @available(*, deprecated)
  @Test func `start returns the chain`() async {
    let token = toStep { 1 }
      .then { (_, handler: Handler<Int>) in _ = handler }
      .start()
      .cancellationToken
    #expect(!token.cancelled)
    #expect(token.cancel("no longer"))
    #expect(!token.cancel())
    #expect(token.cancelled)
    #expect(token.reason == "no longer")
  }

  @available(*, deprecated)
  @Test func `The state has the value, the error or the token`() async {
    let ends = Recorder<String>()
    let record: @Sendable (ChainState) -> Void = { state in
      switch state {
      case .Resolved(let value): ends.record("resolved \(value)")
      case .Errored(let error): ends.record("errored \(error)")
      case .Canceled(let token): ends.record("canceled \(token.reason ?? "")")
      }
      seen.record("\(state.resolved) \(state.errored) \(state.canceled)")
    }
    toStep { 42 }.finally(record).start()
    await seen.elements(atLeast: 1)
    toStep { throw Fault("no") }.finally(record).start()
    await seen.elements(atLeast: 2)
    let canceled = toStep { 42 }.finally(record)
    canceled.cancellationToken.cancel(reason: "before")
    canceled.start()

    #expect(await seen.elements(atLeast: 3) == ["true false false", "false true false", "false false true"])
    #expect(ends.elements == ["resolved 42", "errored no", "canceled before"])
  }

  @available(*, deprecated)
  @Test func `An appended chain is covered by the outer onError`() async {
    let inner = toStep { (_: Int) -> Int in throw Fault("inner failed") }.onError { _ in seen.record("inner") }
    toStep { 1 }.then(inner).onError { error in seen.record("outer: \(error)") }.finally { _ in seen.record("end") }
      .start()

    #expect(await seen.elements(atLeast: 2) == ["outer: inner failed", "end"])
  }

  @available(*, deprecated)
  @Test func `An appended chain has the outer token`() async {
    let handlers = Recorder<Handler<Int>>()
    let inner = toStep { (_: Int, handler: Handler<Int>) in handlers.record(handler) }
    let old = inner.cancellationToken
    let outer = toStep { 1 }.then(inner).then { number in number }
      .finally { state in seen.record("canceled: \(state.canceled)") }
    outer.start()
    await handlers.elements(atLeast: 1)
    #expect(inner.cancellationToken == outer.cancellationToken)
    old.cancel()
    #expect(!outer.cancellationToken.cancelled)
    inner.cancellationToken.cancel()
    handlers.elements.first?.pass(1)

    #expect(await seen.elements(atLeast: 1) == ["canceled: true"])
  }

  @available(*, deprecated)
  @Test func `The finally of an appended chain is the latest`() async {
    let inner = toStep { (number: Int) -> Int in number }.finally { _ in seen.record("inner") }
    toStep { 1 }.finally { _ in seen.record("outer") }.then(inner).then { number in seen.record("\(number)") }.start()

    #expect(await seen.elements(atLeast: 2) == ["1", "inner"])
  }

  @available(*, deprecated)
  @Test func `A handler of the named type fits`() async {
    let handler: StepErrorHandler = { [seen] error in seen.record("\(error)") }
    toStep { () -> Int in throw Fault("no") }.onError(handler).start()

    #expect(await seen.elements(atLeast: 1) == ["no"])
  }
}
