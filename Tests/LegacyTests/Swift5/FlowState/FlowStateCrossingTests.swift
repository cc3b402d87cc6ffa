// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting
import Testing

/// A step of one world in the other: a file uses one, so the steps stand in two files.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowStateCrossingTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test func `An old step is presented in a new flow`() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a", next: screens.step("not started"))
    _ = NewFlows.run(step.modern, with: "x", telling: seen)
    await seen.elements(atLeast: 1)
    screens.complete("a", 1)
    #expect(await seen.elements(atLeast: 4) == ["a shows x", "a = 1", "new flow: 1", "resolved"])
  }

  @available(*, deprecated)
  @Test func `No result means going back`() async {
    let screens = OldScreens(telling: seen)
    _ = NewFlows.run(screens.step("a").modern, with: "x", telling: seen)
    await seen.elements(atLeast: 1)
    screens.complete("a", nil)
    #expect(await seen.elements(atLeast: 3) == ["a shows x", "a = nil", "back"])
  }

  @available(*, deprecated)
  @Test func `An old screen that is released abandons its presentation`() async {
    let screens = OldScreens(telling: seen)
    _ = NewFlows.run(screens.step("a").modern, with: "x", telling: seen)
    await seen.elements(atLeast: 1)
    screens.close("a")
    #expect(await seen.elements(atLeast: 2) == ["a shows x", "abandoned"])
  }

  @available(*, deprecated)
  @Test
  func `The content of the new step also reaches the old screen`() async {
    let screens = OldScreens(telling: seen)
    let modern = screens.step("a").modern
    _ = NewFlows.run(modern, with: "x", telling: seen)
    await seen.elements(atLeast: 1)
    modern.content = "y"
    screens.complete("a", 1)
    await seen.elements(atLeast: 5)
    modern.content = "z"
    #expect(
      seen.elements == ["a shows x", "a shows y", "a = 1", "new flow: 1", "resolved", "a shows z"]
    )
  }

  @available(*, deprecated)
  @Test func `Cancelling the new flow ends it`() async {
    let screens = OldScreens(telling: seen)
    let run = NewFlows.run(screens.step("a").modern, with: "x", telling: seen)
    await seen.elements(atLeast: 1)
    run.cancel(reason: "left")
    #expect(await seen.elements(atLeast: 2) == ["a shows x", "cancelled: left"])
  }

  @available(*, deprecated)
  @Test func `A new step is a step of an old flow`() async throws {
    let screens = OldScreens(telling: seen)
    let step = NewFlows.step(telling: seen, keeping: handlers).legacy
    step.content = "x"
    step.setCompletion { [seen] _, number in seen.record("old: \(number ?? 0)") }
    step.nextStep = screens.step("b")
    step.start()
    await seen.elements(atLeast: 1)
    step.content = "y"
    let handler = try #require(await handlers.elements(atLeast: 1).first)
    handler.complete(1)
    #expect(await seen.elements(atLeast: 4) == ["new shows x", "new shows y", "old: 1", "b shows nothing"])
  }

  @available(*, deprecated)
  @Test func `Going back from a new step is no result`() async throws {
    let step = NewFlows.step(telling: seen, keeping: handlers).legacy
    step.content = "x"
    step.setCompletion { [seen] _, number in seen.record("old: \(number ?? 0)") }
    step.start()
    let handler = try #require(await handlers.elements(atLeast: 1).first)
    handler.back()
    #expect(await seen.elements(atLeast: 2) == ["new shows x", "old: 0"])
  }

  @available(*, deprecated)
  @Test func `A new step that is started while it is presented starts over`() async throws {
    let step = NewFlows.step(telling: seen, keeping: handlers).legacy
    step.content = "x"
    step.setCompletion { [seen] _, number in seen.record("old: \(number ?? 0)") }
    step.start()
    await handlers.elements(atLeast: 1)
    step.start()
    let second = try #require(await handlers.elements(atLeast: 2).last)
    second.complete(2)
    await seen.elements(atLeast: 3)
    await Turns.pass()
    #expect(seen.elements.suffix(1) == ["old: 2"])
    #expect(seen.elements.filter { $0.hasPrefix("old") }.count == 1)
  }

  @available(*, deprecated)
  @Test func `A new flow is a step of an old one`() async {
    let step = NewFlows.flow(answering: 3).legacy
    let failing = NewFlows.failingFlow().legacy
    for step in [step, failing] {
      step.setCompletion { [seen] _, number in seen.record(number.map { "old: \($0)" } ?? "old: nothing") }
    }
    let both = ConcurentFlowStep(identifier: "both", steps: [step, failing])
    both.nextStep = OldScreens(telling: seen).after("both")
    both.start()
    let lines = await seen.elements(atLeast: 3)
    #expect(lines.prefix(2).sorted() == ["old: 3", "old: nothing"])
    #expect(lines.last == "after both")
  }

  private let handlers = NewFlows.handlers()
}
