// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyFlowState
import StepwiseTesting
import Testing

/// What was wrong with FlowState, and what holds now.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowStateDefectTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test func aScreenThatDiesEndsItsStepWithNothing() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a")
    step.start()
    await seen.elements(atLeast: 1)
    screens.close("a")
    #expect(await seen.elements(atLeast: 2) == ["a shows nothing", "a = nil"])
  }

  @available(*, deprecated)
  @Test func aHandlerThatOnlyTheStepHasEndsItWithNothing() async {
    let step = FlowStep(String.self, Int.self, identifier: "gone", { _ in FlowStepHandler(String.self, Int.self) }) {
      [seen] _, result in
      seen.record(result == nil ? "nil" : "a result")
    }
    step.start()
    #expect(await seen.elements(atLeast: 1) == ["nil"])
  }

  @available(*, deprecated)
  @Test func whatFollowsADeadScreenIsOnlyWhatTheCompletionSaysThen() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a", next: screens.step("b"))
    step.start()
    await seen.elements(atLeast: 1)
    screens.close("a")
    await seen.elements(atLeast: 2)
    await Turns.pass()
    #expect(seen.elements == ["a shows nothing", "a = nil"])
    #expect(step.nextStep != nil)

    let other = screens.step("c")
    step.setCompletion { step, _ in step.nextStep = other }
    step.start()
    await seen.elements(atLeast: 3)
    screens.close("a")
    #expect(await seen.elements(atLeast: 4).suffix(1) == ["c shows nothing"])
  }

  @available(*, deprecated)
  @Test func completingTwiceStartsTheNextStepOnce() async {
    let screens = OldScreens(telling: seen)
    screens.step("a", next: screens.step("b")).start()
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    screens.complete("a", 2)
    await seen.elements(atLeast: 3)
    screens.complete("a", 3)
    await Turns.pass()
    #expect(seen.elements == ["a shows nothing", "a = 1", "b shows nothing"])
  }

  @available(*, deprecated)
  @Test func completingTwiceBeforeTheIntentHasReturnedEndsTheStepWithTheFirst() async {
    let screens = OldScreens(telling: seen)
    let step = FlowStep(String.self, Int.self, identifier: "early") { _ in
      let handler = FlowStepHandler(String.self, Int.self)
      handler.complete(1)
      handler.complete(2)
      return handler
    }
    step.setCompletion { [seen] _, result in seen.record("early = \(result ?? 0)") }
    step.nextStep = screens.step("b")
    step.start()
    await seen.elements(atLeast: 2)
    await Turns.pass()
    #expect(seen.elements == ["early = 1", "b shows nothing"])
  }

  @available(*, deprecated)
  @Test func completingOnManyThreadsStartsTheNextStepOnce() async throws {
    let screens = OldScreens(telling: seen)
    screens.step("a", next: screens.step("b")).start()
    await seen.elements(atLeast: 1)
    let handler = try #require(screens.shown["a"])
    DispatchQueue.concurrentPerform(iterations: 8) { handler.complete($0) }
    await seen.elements(atLeast: 3)
    await Turns.pass()
    #expect(seen.elements.filter { $0.hasPrefix("a = ") }.count == 1)
    #expect(seen.elements.filter { $0.hasPrefix("b shows") }.count == 1)
  }

  @available(*, deprecated)
  @Test func aScreenThatStaysAnswersAgainWhenAllThatFollowedHasEnded() async {
    let screens = OldScreens(telling: seen)
    screens.step("a", next: screens.step("b")).start()
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    await seen.elements(atLeast: 3)
    screens.complete("b", 2)
    await seen.elements(atLeast: 4)
    await Turns.pass()
    screens.complete("a", 3)
    screens.complete("a", 4)
    await seen.elements(atLeast: 6)
    await Turns.pass()
    #expect(seen.elements.suffix(3) == ["b = 2", "a = 3", "b shows nothing"])
  }

  // A handler of another result does not compile; what the result is, is kept.
  // What calls back again when all has ended is work, not a screen: in the original its step ended once more.
  @available(*, deprecated)
  @Test func workThatCallsBackAgainLaterChangesNothing() async {
    let screens = OldScreens(telling: seen)
    screens.step("a").start()
    await seen.elements(atLeast: 1)
    let work = screens.shown["a"]
    await Task.detached { work?.complete(1) }.value
    await seen.elements(atLeast: 2)
    await Turns.pass()
    await Task.detached { work?.complete(2) }.value
    await Turns.pass()
    #expect(seen.elements == ["a shows nothing", "a = 1"])
    work?.complete(3)
    #expect(await seen.elements(atLeast: 3).last == "a = 3")
  }

  @available(*, deprecated)
  @Test func aResultKeepsItsType() async {
    final class Box {
      var value = 1
    }
    let step = FlowStep(
      Any.self,
      Box.self,
      identifier: "box",
      { _ in
        let handler = FlowStepHandler(Any.self, Box.self)
        handler.complete(Box())
        return handler
      }
    ) { [seen] _, box in
      seen.record("\(box?.value ?? 0)")
    }
    step.start()
    #expect(await seen.elements(atLeast: 1) == ["1"])
  }

  @available(*, deprecated)
  @Test func aConcurrentStepHasTheResultsAndLeavesTheNextStepsAsTheyAre() async {
    let screens = OldScreens(telling: seen)
    let after = screens.step("after a")
    let first = screens.step("a", next: after)
    let second = screens.step("b")
    let both = ConcurentFlowStep(identifier: "both", steps: [first, second])
    both.nextStep = screens.step("c")
    both.setCompletion { [seen] _, results in seen.record("\(results.compactMap { $0 as? Int })") }
    both.start()
    await seen.elements(atLeast: 2)
    screens.complete("b", 2)
    screens.complete("a", 1)
    await seen.elements(atLeast: 5)
    screens.complete("after a", 3)
    #expect(await seen.elements(atLeast: 8).suffix(3) == ["after a = 3", "[1, 2]", "c shows nothing"])
    #expect(both.results.compactMap { $0 as? Int } == [1, 2])
    #expect(first.nextStep === after)
    #expect(second.nextStep == nil)
  }

  @available(*, deprecated)
  @Test func nothingIsKeptWhenTheFlowHasEnded() async {
    let tracker = LifetimeTracker()
    do {
      let token = tracker.track()
      let step = FlowStep(
        String.self,
        Int.self,
        identifier: "a",
        { [seen] _ in
          _ = token
          seen.record("shown")
          return nil
        }
      )
      step.start()
    }
    await seen.elements(atLeast: 1)
    await Turns.pass()
    #expect(tracker.alive == 0)
  }
}
