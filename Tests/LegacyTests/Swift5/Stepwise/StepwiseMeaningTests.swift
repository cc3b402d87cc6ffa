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
  @Test func aCancelDuringTheLastSynchronousStepLeavesTheChainResolved() async {
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
  @Test func aHandlerCalledInsideItsClosureAfterACancelCounts() async {
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
  @Test(arguments: [true, false]) func anErrorAfterACancelIsAnError(hasNextStep: Bool) async {
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

  // MARK: - After the start

  @available(*, deprecated)
  @Test func stepsAndHandlersMayBeAttachedAfterTheStart() async {
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
  @Test func aStepAppendedToAnAppendedChainFollowsInTheWhole() async {
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
  func theErrorHandlerOfAnAppendedChainAppliesFromItsFirstStepOn(place: Place, expected: [String]) async {
    whole(throwing: place, inner: "inner", outer: nil).finally { _ in seen.record("end") }.start(1)

    #expect(await seen.elements(atLeast: expected.count) == expected)
  }

  @available(*, deprecated)
  @Test(arguments: Place.allCases) func theOuterErrorHandlerTakesPrecedence(place: Place) async {
    whole(throwing: place, inner: "inner", outer: "outer").finally { _ in seen.record("end") }.start(1)

    #expect(await seen.elements(atLeast: 2) == ["outer: \(place)", "end"])
  }

  @available(*, deprecated)
  @Test(arguments: zip(Place.allCases, ["outer", "inner", "inner"]))
  func theFinallyOfAnAppendedChainTakesPrecedenceFromItsFirstStepOn(place: Place, expected: String) async {
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
  func aFinallyOfTheFirstStepAloneTakesPrecedenceOverALaterOne(place: Place, expected: String) async {
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
