// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import Testing

/// What `FlowStateScenarios` did on FlowState 1.5, which is what they do here.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowStateMeaningTests {
  @available(*, deprecated)
  @Test
  func `A released coordinator is freed with its screens`() {
    #expect(
      FlowStateScenarios.aReleasedCoordinatorThatWaitsAtItsFirstScreen() == [
        "a shows = nil",
        "waits",
        "the coordinator is released",
        "a is released",
        "the navigation controller is released",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `Completing a handler after the owner was released does nothing`() {
    #expect(
      FlowStateScenarios.completingAfterTheOwnerWasReleased() == [
        "display shows = nil", "display = go", "edit shows = nil", "completed",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `Going back calls no completion, and the previous screen is active`() {
    #expect(
      FlowStateScenarios.goingBackFromAnEditor() == [
        "display shows = Ann",
        "edit shows = nil",
        "edit is released",
        "back",
        "edit shows = nil",
        "edit = Ada",
        "display shows = Ada",
        "edit is released",
        "screens: 1",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `A screen that stays answers again while its follower lives`() {
    #expect(FlowStateScenarios.aListThatPushesDetails() == [1, 2, 3])
  }

  @available(*, deprecated)
  @Test
  func `A completion is called before complete returns`() {
    #expect(
      FlowStateScenarios.whatACompletionSees() == [
        "a shows = first",
        "completed with x at = first",
        "a shows = second",
        "completed with y at = second",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `Of several early results, the last is delivered once`() {
    #expect(
      FlowStateScenarios.anIntentThatCompletesTwiceBeforeItReturns() == ["returns", "early = 2", "b shows = nil"]
    )
  }

  @available(*, deprecated)
  @Test
  func `A handler that outlives its step completes the next step that gets it`() {
    #expect(FlowStateScenarios.aHandlerThatOutlivesItsStep() == ["the first step is released", "second = x"])
  }

  @available(*, deprecated)
  @Test
  func `A step restarted while it waits accepts results from both screens`() {
    #expect(
      FlowStateScenarios.aStepThatIsStartedWhileItWaits() == [
        "a shows = nil", "a shows = nil", "a = old", "a shows = x", "a = new",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `A content handler that is set later receives the next content`() {
    #expect(FlowStateScenarios.aContentHandlerThatIsSetLater() == ["holds = x", "shows = y"])
  }

  @available(*, deprecated)
  @Test
  func `A step does not retain its screen`() {
    #expect(FlowStateScenarios.aScreenThatOnlyTheIntentHad() == ["released"])
  }

  @available(*, deprecated)
  @Test
  func `A coordinator starts its first step and not its next step`() {
    #expect(FlowStateScenarios.aCoordinatorInsideAnother() == ["a shows = nil", "a = x", "true outer"])
  }

  @available(*, deprecated)
  @Test
  func `A concurrent step waits for an asynchronous step of the caller's own`() {
    #expect(
      FlowStateScenarios.aStepOfOnesOwnAmongSeveral() == [
        "a shows = nil", "started", "a = x", "own ends", "after shows = nil",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `A concurrent step replaces what follows its steps`() {
    #expect(
      FlowStateScenarios.whatFollowsOneOfSeveral() == [
        "a shows = nil",
        "b shows = nil",
        "a = 1",
        "b = 2",
        "after both shows = nil",
        "screens: 3",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `A concurrent step of immediate steps completes at each start`() {
    #expect(
      FlowStateScenarios.severalThatAreCompletedAtOnce() == [
        "none = nil",
        "none = nil",
        "value starts",
        "none = nil",
        "none = nil",
        "value starts",
      ]
    )
  }

  @available(*, deprecated)
  @Test
  func `A structure can be a step, and a concurrent step cannot wait for it`() {
    #expect(FlowStateScenarios.aStructureAsAStep() == ["value starts", "none = nil", "value starts"])
  }

  @available(*, deprecated)
  @Test
  func `A step accepts named closure types, and its identifier can be set`() {
    #expect(FlowStateScenarios.theSpellingsOfClosuresAndNames() == ["new = nil", "completed new"])
  }
}
