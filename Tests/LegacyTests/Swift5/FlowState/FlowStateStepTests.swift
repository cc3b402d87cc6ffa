// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting
import Testing

/// What steps, handlers and coordinators do, as the old documents say.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowStateStepTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test func startsStepAfterStep() async {
    let screens = OldScreens(telling: seen)
    let first = screens.step("a", next: screens.step("b"))
    first.content = "x"
    first.start()
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    await seen.elements(atLeast: 3)
    screens.complete("b", 2)
    #expect(await seen.elements(atLeast: 4) == ["a shows x", "a = 1", "b shows nothing", "b = 2"])
  }

  @available(*, deprecated)
  @Test func anIntentWithoutAHandlerEndsTheStepAtOnceWithNothing() async {
    let screens = OldScreens(telling: seen)
    let step = FlowStep(String.self, Int.self, identifier: "none", { _ in nil }) { [seen] _, result in
      seen.record(result == nil ? "nil" : "a result")
    }
    step.nextStep = screens.step("b")
    step.start()
    #expect(await seen.elements(atLeast: 2) == ["nil", "b shows nothing"])
  }

  @available(*, deprecated)
  @Test func completingBeforeTheIntentHasReturnedIsDeferred() async {
    let step = FlowStep(
      String.self,
      Int.self,
      identifier: "early",
      { [seen] _ in
        let handler = FlowStepHandler(String.self, Int.self)
        handler.complete(1)
        seen.record("returns")
        return handler
      }
    ) { [seen] _, result in
      seen.record("\(result ?? 0)")
    }
    step.start()
    #expect(await seen.elements(atLeast: 2) == ["returns", "1"])
  }

  @available(*, deprecated)
  @Test func theHandlerIsToldTheContentAtTheStartAndEachNewOneAlsoWhenTheStepIsPast() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a")
    step.content = "x"
    step.start()
    await seen.elements(atLeast: 1)
    step.content = "y"
    screens.complete("a", 1)
    await seen.elements(atLeast: 3)
    step.content = "z"
    #expect(seen.elements == ["a shows x", "a shows y", "a = 1", "a shows z"])
    #expect(step.content == "z")
  }

  @available(*, deprecated)
  @Test func aHandlerOfAMoreGeneralContentIsToldToo() async {
    let handler = FlowStepHandler(Any.self, Int.self)
    handler.contentUpdateHandler = { [seen] content in seen.record("\(content as? String ?? "nothing")") }
    let step = FlowStep(String.self, Int.self, identifier: "any", { _ in handler })
    step.content = "x"
    step.start()
    #expect(await seen.elements(atLeast: 1) == ["x"])
  }

  @available(*, deprecated)
  @Test func aContentHandlerThatIsSetLaterIsToldAtOnce() async {
    let handler = FlowStepHandler(String.self, Int.self)
    let step = FlowStep(
      String.self,
      Int.self,
      identifier: "late",
      { [seen] _ in
        seen.record("shown")
        return handler
      }
    )
    step.content = "x"
    step.start()
    await seen.elements(atLeast: 1)
    await Turns.pass()
    handler.contentUpdateHandler = { [seen] content in seen.record(content ?? "nothing") }
    #expect(seen.elements == ["shown", "x"])
  }

  @available(*, deprecated)
  @Test func nilAsTheNextStepEndsTheFlow() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a", next: screens.step("b"))
    step.setCompletion { [seen] step, _ in
      step.nextStep = nil
      seen.record("end")
    }
    step.start()
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    await seen.elements(atLeast: 2)
    await Turns.pass()
    #expect(seen.elements == ["a shows nothing", "end"])
  }

  @available(*, deprecated)
  @Test func aStepThatIsStartedWhileItWaitsStartsOver() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a")
    step.start()
    await seen.elements(atLeast: 1)
    let first = screens.shown["a"]
    step.start()
    await seen.elements(atLeast: 2)
    first?.complete(1)
    await Turns.pass()
    screens.complete("a", 2)
    await seen.elements(atLeast: 3)
    await Turns.pass()
    #expect(seen.elements == ["a shows nothing", "a shows nothing", "a = 2"])
  }

  @available(*, deprecated)
  @Test func startingTwiceInARowShowsOneScreen() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a")
    step.start()
    step.start()
    await seen.elements(atLeast: 1)
    await Turns.pass()
    screens.complete("a", 2)
    await seen.elements(atLeast: 2)
    #expect(seen.elements == ["a shows nothing", "a = 2"])
  }

  @available(*, deprecated)
  @Test func aFlowIsAStepOfAnother() async {
    let screens = OldScreens(telling: seen)
    let navigation = InMemoryNavigator<UIViewController>()
    let inner = NavigationFlowCoordinator(
      navigationController: navigation,
      identifier: "inner",
      firstStep: screens.step("a", next: screens.step("b"))
    )
    inner.nextStep = screens.step("c")
    inner.start()
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    await seen.elements(atLeast: 3)
    screens.complete("b", 2)
    #expect(await seen.elements(atLeast: 5).suffix(2) == ["b = 2", "c shows nothing"])
    #expect(inner.navigationController === navigation)
    #expect(inner.identifier == "inner")
  }

  @available(*, deprecated)
  @Test func aStepOfOnesOwnStartsItsNextStepItself() async {
    let screens = OldScreens(telling: seen)
    let own = OwnStep(telling: seen)
    own.nextStep = screens.step("b")
    screens.step("a", next: own).start()
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    #expect(await seen.elements(atLeast: 4) == ["a shows nothing", "a = 1", "own", "b shows nothing"])
  }

  // As the example project beside FlowState's document does.
  @available(*, deprecated)
  @Test func aScreenReadsTheContentFromItsHandler() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a")
    step.content = "x"
    step.start()
    await seen.elements(atLeast: 1)
    #expect(screens.shown["a"]?.content == "x")
    step.content = "y"
    #expect(screens.shown["a"]?.content == "y")
    #expect(FlowStepHandler(String.self, Int.self).content == nil)
  }

  // As the example project beside FlowState's document does.
  @available(*, deprecated)
  @Test func aCoordinatorIsMadeByASubclass() async {
    let screens = OldScreens(telling: seen)
    let coordinator = OwnCoordinator(showing: screens.step("a"))
    coordinator.nextStep = screens.step("b")
    coordinator.start()
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    #expect(await seen.elements(atLeast: 3) == ["a shows nothing", "a = 1", "b shows nothing"])
    #expect(coordinator.identifier == "")
  }
}
