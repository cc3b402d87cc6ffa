// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyStepwise
import StepwiseTesting
import Testing

/// What ends a chain, and which handler applies.
///
/// The same source ran on Stepwise 2.1, and the expectations are what it did.
@Suite(.timeLimit(.minutes(5)))
struct StepwiseMeaningTests {
  let seen = Recorder<String>()

  // MARK: - Cancellation

  @available(*, deprecated)
  @Test func `A cancel in the last synchronous step leaves the chain resolved`() async {
    let tokens = Recorder<CancellationToken>()
    let chain = toStep { (number: Int) -> Int in number }
      .then { (number: Int) -> Int in
        tokens.elements.first?.cancel()
        return number
      }
      .finally { state in seen.record("resolved: \(state.resolved)") }
    tokens.record(chain.cancellationToken)
    chain.start(1)

    #expect(await seen.elements(atLeast: 1) == ["resolved: true"])
  }

  @available(*, deprecated)
  @Test func `A handler called inside its closure after a cancel counts`() async {
    let tokens = Recorder<CancellationToken>()
    let chain = toStep { (number: Int, handler: Handler<Int>) in
      tokens.elements.first?.cancel()
      handler.pass(number)
    }
    .finally { state in seen.record("resolved: \(state.resolved)") }
    tokens.record(chain.cancellationToken)
    chain.start(1)

    #expect(await seen.elements(atLeast: 1) == ["resolved: true"])
  }

  @available(*, deprecated)
  @Test(arguments: [true, false]) func `An error after a cancel is an error`(hasNextStep: Bool) async {
    let tokens = Recorder<CancellationToken>()
    let chain = toStep { (_: Int) -> Int in
      tokens.elements.first?.cancel()
      throw Fault("no")
    }
    if hasNextStep { chain.then { _ in seen.record("next") } }
    chain.onError { error in seen.record("\(error)") }.finally { state in seen.record("errored: \(state.errored)") }
    tokens.record(chain.cancellationToken)
    chain.start(1)

    #expect(await seen.elements(atLeast: 2) == ["no", "errored: true"])
  }

  /// A step that waits for its handler while the chain is cancelled, in the middle of the chain or at its end.
  @available(*, deprecated)
  private func cancelledWhileWaiting(isLast: Bool) async -> Handler<Int>? {
    let (seen, handlers, queue) = (seen, Recorder<Handler<Int>>(), DispatchQueue(label: "serial"))
    let chain = toStep(inQueue: queue) { (_: Int, handler: Handler<Int>) in handlers.record(handler) }
    if !isLast { chain.then { _ in seen.record("next") } }
    chain.onError { error in seen.record("\(error)") }.finally { state in
      seen.record("resolved: \(state.resolved), errored: \(state.errored), canceled: \(state.canceled)")
    }
    chain.start(1)
    await handlers.elements(atLeast: 1)
    chain.cancellationToken.cancel(reason: "enough")
    // What a cancel began in the step's queue would be ahead of this.
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    return handlers.elements.first
  }

  @available(*, deprecated)
  @Test(
    arguments: zip([false, true], ["canceled: true", "canceled: false"])
  )
  func `A cancelled step is in use until its handler is called`(isLast: Bool, end: String) async {
    let handler = await cancelledWhileWaiting(isLast: isLast)
    seen.record("written")
    handler?.pass(1)
    let lines = await seen.elements(atLeast: 2)
    #expect(lines.first == "written" && lines.count == 2 && lines.last?.hasSuffix(end) == true)
  }

  @available(*, deprecated)
  @Test(arguments: [false, true])
  func `A failure after a cancel reaches onError`(isLast: Bool) async {
    await cancelledWhileWaiting(isLast: isLast)?.fail(Fault("disk full"))
    #expect(await seen.elements(atLeast: 2) == ["disk full", "resolved: false, errored: true, canceled: false"])
  }

  // MARK: - Started again

  @available(*, deprecated)
  @Test
  func `Runs of a chain that is started again do not wait for one another`() async {
    let ready = DispatchSemaphore(value: 0)
    let chain = toStep { (role: String) -> String in
      if role == "consumer" { ready.wait() } else { ready.signal() }
      return role
    }
    .then { role in seen.record(role) }
    chain.start("consumer")
    chain.start("producer")
    #expect(Set(await seen.elements(atLeast: 2)) == ["consumer", "producer"])
  }

  @available(*, deprecated)
  @Test
  func `Handlers of a chain that is started again do not wait for one another`() async {
    let (failed, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let chain = toStep { (role: String) -> Int in throw Fault(role) }
      .onError { error in
        if (error as? Fault) == Fault("consumer") { failed.wait() } else { failed.signal() }
      }
      .finally { state in
        guard case .Errored(let error) = state else { return }
        if (error as? Fault) == Fault("consumer") { ended.wait() } else { ended.signal() }
        seen.record("\(error)")
      }
    chain.start("consumer")
    chain.start("producer")
    #expect(Set(await seen.elements(atLeast: 2)) == ["consumer", "producer"])
  }

  // MARK: - Retaining

  /// A screen of edition 1, or of edition 2, that keeps what ends its step.
  @available(*, deprecated)
  private final class Screen {
    var pending: Step<Void, String>?
    var handler: Handler<String>?
    let seen: Recorder<String>

    init(_ seen: Recorder<String>) { self.seen = seen }
    deinit { seen.record("freed") }

    func ask() {
      toStep(DispatchQueue.main) { (step: Step<Void, String>) in
        self.pending = step
        self.seen.record("requested")
      }
      .then(queue: .main) { (step: Step<String, Void>) in
        self.seen.record(step.input)
        step.resolve()
      }
      .start()
    }

    func askAgain() {
      toStep(inQueue: .main) { (_: Int, handler: Handler<String>) in
        self.handler = handler
        self.seen.record("requested")
      }
      .then(inQueue: .main) { text in self.seen.record(text) }
      .start(1)
    }
  }

  @available(*, deprecated)
  @Test(arguments: [1, 2])
  @MainActor func `A screen that keeps the Step or Handler that it has called is freed`(edition: Int) async {
    var screen: Screen? = Screen(seen)
    if edition == 1 { screen?.ask() } else { screen?.askAgain() }
    await seen.elements(atLeast: 1)
    screen?.pending?.resolve("answer")
    screen?.handler?.pass("answer")
    await seen.elements(atLeast: 2)
    screen = nil
    #expect(await seen.elements(atLeast: 3) == ["requested", "answer", "freed"])
  }

  @available(*, deprecated)
  @Test
  func `A second call of a Step is ignored, and of a Handler reported`() async {
    await #expect(processExitsWith: .success) {
      let reports = NewChains.recordingMisuse()
      let ends = Recorder<Bool>()
      toStep { (step: Step<Int, Int>) in
        step.resolve(1)
        step.resolve(2)
        step.error(Fault("late"))
      }.finally { _ in ends.record(true) }.start(1)
      await ends.elements(atLeast: 1)
      let called = Recorder<Bool>()
      toStep { (_: Int, handler: Handler<Int>) in
        handler.pass(1)
        handler.pass(2)
        called.record(true)
      }.start(1)
      await called.elements(atLeast: 1)
      #expect(reports.elements == [2])
    }
  }

  // MARK: - After the start

  @available(*, deprecated)
  @Test func `Steps and handlers may be attached after the start`() async {
    let queue = DispatchQueue(label: "suspended")
    queue.suspend()
    toStep(inQueue: queue) { (_: Int) in seen.record("first") }
      .start(1)
      .then { _ in seen.record("second") }
      .then { _ -> Int in throw Fault("no") }
      .onError { error in seen.record("\(error)") }
      .finally { _ in seen.record("end") }
    queue.resume()

    #expect(await seen.elements(atLeast: 4) == ["first", "second", "no", "end"])
  }

  @available(*, deprecated)
  @Test func `A step appended to an appended chain follows the whole`() async {
    let inner = toStep { (_: Int) in seen.record("inner") }
    let outer = toStep { (number: Int) -> Int in number }.then(inner)
    inner.then { _ in seen.record("later") }
    outer.start(1)

    #expect(await seen.elements(atLeast: 2) == ["inner", "later"])
  }

  // MARK: - Inner and outer handlers

  /// Where the outer chain or the inner one throws.
  enum Place: CaseIterable {
    case before, inside, after
  }

  @available(*, deprecated)
  @Test(arguments: zip(Place.allCases, [["end"], ["inner: inside", "end"], ["inner: after", "end"]]))
  func `The onError of an appended chain applies from its first step`(place: Place, expected: [String]) async {
    whole(throwing: place, inner: "inner", outer: nil).finally { _ in seen.record("end") }.start(1)

    #expect(await seen.elements(atLeast: expected.count) == expected)
  }

  @available(*, deprecated)
  @Test(arguments: Place.allCases) func `The outer error handler takes precedence`(place: Place) async {
    whole(throwing: place, inner: "inner", outer: "outer").finally { _ in seen.record("end") }.start(1)

    #expect(await seen.elements(atLeast: 2) == ["outer: \(place)", "end"])
  }

  @available(*, deprecated)
  @Test(arguments: zip(Place.allCases, ["outer", "inner", "inner"]))
  func `The finally of an appended chain wins from its first step`(place: Place, expected: String) async {
    let inner = toStep { (number: Int) -> Int in try number.unless(place == .inside) }
      .then { number in number }
      .finally { _ in seen.record("inner") }
    toStep { (number: Int) -> Int in try number.unless(place == .before) }
      .then(inner)
      .then { number in try number.unless(place == .after) }
      .finally { _ in seen.record("outer") }
      .start(1)

    #expect(await seen.elements(atLeast: 1) == [expected])
  }

  // The first step passes its `finally` on when a step is appended to it, and only then.
  @available(*, deprecated)
  @Test(arguments: zip(Place.allCases, ["second", "first", "first"]))
  func `Only a finally of the first step wins over a later finally`(place: Place, expected: String) async {
    toStep { (number: Int) -> Int in try number.unless(place == .before) }
      .finally { _ in seen.record("first") }
      .then { number in try number.unless(place == .inside) }
      .finally { _ in seen.record("second") }
      .start(1)

    #expect(await seen.elements(atLeast: 1) == [expected])
  }

  @available(*, deprecated)
  private func whole(
    throwing place: Place,
    inner innerName: String,
    outer outerName: String?
  ) -> StepChain<Int, Int, Int, Int> {
    let seen = seen
    let inner = toStep { (number: Int) -> Int in try number.unless(place == .inside) }
      .onError { _ in seen.record("\(innerName): \(place)") }
    let chain = toStep { (number: Int) -> Int in try number.unless(place == .before) }
      .then(inner)
      .then { number in try number.unless(place == .after) }
    return outerName.map { name in chain.onError { _ in seen.record("\(name): \(place)") } } ?? chain
  }
}

extension Int {
  fileprivate func unless(_ fails: Bool) throws -> Int {
    if fails { throw Fault("no") }
    return self
  }
}
