// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Screens that replace others, in nested flows, in replays and after the user has left.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowCoverTests {
  let navigator = InMemoryNavigator<WalkPage>()
  let made = Recorder<WalkPage>()

  private func page(
    _ name: String,
    _ presentation: FlowPresentation = .push,
    on other: InMemoryNavigator<WalkPage>? = nil
  ) -> FlowStep<Void, WalkAnswer> {
    FlowStep(name, presentation, on: other ?? navigator) { [made] handler in
      let page = WalkPage(name, handler)
      made.record(page)
      return page
    }
  }

  private var stack: [String] { navigator.stack.map(\.name) }

  private func end(_ run: Run<WalkAnswer>) async {
    run.cancel()
    _ = await run.outcome
  }

  // G160
  @Test func `A replay does not restore the screen that a nested flow replaced`() async {
    let (a, n1, n2) = (page("a"), page("n1"), page("n2"))
    let nested = FlowStep("nested", flow: Flow<WalkAnswer>("inner", first: n1).on(n1) { _, _ in .next(n2) })
    let flow = Flow<WalkAnswer>("flow", first: a).on(a) { _, _ in .replace(nested) }
    let run = flow.start()
    for count in 1..<3 {
      await made.elements(atLeast: count)
      navigator.visible?.handler.complete(.finish)
    }
    await made.elements(atLeast: 3)
    #expect(stack == ["n1", "n2"])
    let answers = flow.answers
    await end(run)
    let replay = flow.start(replaying: answers)
    await made.elements(atLeast: 5)
    #expect(stack == ["n1", "n2"])
    await end(replay)
  }

  // G160
  @Test func `A replay covers the screen below a nested flow that has ended`() async {
    let (a, m, b) = (page("a"), page("m", .replace), page("b"))
    let nested = FlowStep("nested", flow: Flow<WalkAnswer>("inner", first: m))
    let flow = Flow<WalkAnswer>("flow", first: a).on(a) { _, _ in .next(nested) }.on(nested) { _, _ in .next(b) }
    let run = flow.start()
    for count in 1..<3 {
      await made.elements(atLeast: count)
      navigator.visible?.handler.complete(.finish)
    }
    await made.elements(atLeast: 3)
    let answers = flow.answers
    await end(run)
    #expect(navigator.stack.map(\.name) == ["m"])
    let replay = flow.start(replaying: answers)
    await made.elements(atLeast: 6)
    #expect(made.elements.map(\.name) == ["a", "m", "b", "a", "m", "b"])
    #expect(stack == ["m", "m", "b"] && flow.path.map(\.name) == ["a", "nested", "b"])
    // The host reports it, because the flow has replaced it.
    #expect(made.elements[3].handler.back() == false)
    #expect(made.elements[4].handler.back() == true)
    await made.elements(atLeast: 7)
    #expect(stack == ["m", "a"] && flow.path.map(\.name) == ["a"])
    await end(replay)
  }

  // G161
  @Test func `A screen that replaces one that the user has removed leaves those of the host`() async {
    let clock = ManualClock()
    let (a, b) = (page("a"), page("b", .replace))
    let work = FlowStep("work", running: Chain { try await clock.sleep(for: .seconds(1)) })
    let flow = Flow<WalkAnswer>("flow", first: a).on(a) { _, _ in .next(work) }.on(work) { _, _ in .next(b) }
    let home = Flow<WalkAnswer>("home", first: page("home", .replace)).start()
    await made.elements(atLeast: 1)
    let run = flow.start()
    await made.elements(atLeast: 2)
    navigator.visible?.handler.complete(.finish)
    await clock.sleepers(atLeast: 1)
    // The report of the host is on its way.
    let left = navigator.swipeBack()
    clock.advance(by: .seconds(1))
    await made.elements(atLeast: 3)
    #expect(left?.name == "a" && stack == ["home", "b"])
    await end(run)
    await end(home)
  }

  // G162
  @Test func `Back over a replacing screen from the first step removes it, too`() async {
    let other = InMemoryNavigator<WalkPage>()
    let (a, b) = (page("a"), page("b", .replace, on: other))
    let flow = Flow<WalkAnswer>("flow", first: a).on(a) { _, _ in .next(b) }
    let run = flow.start()
    await made.elements(atLeast: 1)
    navigator.visible?.handler.complete(.finish)
    await made.elements(atLeast: 2)
    #expect(other.stack.map(\.name) == ["b"])
    #expect(navigator.swipeBack()?.handler.back() == true)
    await #expect(throws: FlowError.back) { try await run.value }
    #expect(stack == [] && other.stack.isEmpty)
  }
}
