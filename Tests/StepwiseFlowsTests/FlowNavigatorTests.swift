// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// What a flow has a navigator do.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowNavigatorTests {
  final class Screen {
    let name: String
    let handler: FlowStepHandler<String, Int>

    init(_ name: String, _ handler: FlowStepHandler<String, Int>) {
      self.name = name
      self.handler = handler
    }
  }

  let navigator = InMemoryNavigator<Screen>()
  let made = Recorder<String>()

  private func step(_ name: String, _ presentation: FlowPresentation = .push) -> FlowStep<String, Int> {
    FlowStep(name, presentation, on: navigator) { [made] handler in
      made.record(name)
      return Screen(name, handler)
    }
  }

  private var stack: [String] { navigator.stack.map(\.name) }

  private func answer(_ number: Int, then count: Int) async {
    navigator.visible?.handler.complete(number)
    await made.elements(atLeast: count)
  }

  private func flow(
    _ first: FlowStep<String, Int>,
    _ second: FlowStep<String, Int>,
    _ third: FlowStep<String, Int>
  ) -> Flow<Int> {
    Flow<Int>("flow", first: first, content: "x")
      .on(first) { _, _ in .next(second, "y") }
      .on(second) { _, _ in .next(third, "z") }
      .on(third) { number, _ in number == 0 ? .next(first) : .finish(number) }
  }

  @Test func `Steps push screens and the end pops them newest first`() async throws {
    let flow = flow(step("a"), step("b"), step("c"))
    let run = flow.start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    await answer(2, then: 3)
    #expect(stack == ["a", "b", "c"])
    navigator.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(stack == [])
    #expect(navigator.calls == ["push", "push", "push", "pop", "pop", "pop"])
  }

  @Test
  func `Going back pops the screen, and the previous step gets a new one`() async throws {
    let flow = flow(step("a"), step("b"), step("c"))
    let run = flow.start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    let old = navigator.stack[0]
    navigator.visible?.handler.back()
    await made.elements(atLeast: 3)
    #expect(stack == ["a"])
    #expect(navigator.stack[0] !== old)
    #expect(navigator.calls == ["push", "push", "pop", "replace"])
    run.cancel()
    _ = await run.outcome
    #expect(stack == [])
  }

  @Test func `Next to a step on the path pops all above it`() async throws {
    let run = flow(step("a"), step("b"), step("c")).start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    await answer(1, then: 3)
    await answer(0, then: 4)
    #expect(stack == ["a"])
    #expect(navigator.calls == ["push", "push", "push", "pop", "pop", "replace"])
    run.cancel()
    _ = await run.outcome
  }

  @Test func `A presented screen is dismissed when its presentation ends`() async throws {
    let run = flow(step("a"), step("b", .present), step("c")).start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    #expect(navigator.presented.map(\.name) == ["b"])
    await answer(2, then: 3)
    #expect(navigator.presented.isEmpty)
    #expect(stack == ["a", "c"])
    navigator.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(navigator.calls == ["push", "present", "dismiss", "push", "pop", "pop"])
  }

  @Test func `A replacing screen stays`() async throws {
    let run = flow(step("a", .replace), step("b", .replace), step("c")).start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    #expect(stack == ["b"])
    await answer(1, then: 3)
    navigator.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(stack == ["b"])
  }

  @Test func `The transition replace replaces the screen`() async throws {
    let (a, b) = (step("a"), step("b"))
    let flow = Flow<Int>("flow", first: a, content: "x").on(a) { _, _ in .replace(b, "y") }
    let run = flow.start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    #expect(stack == ["b"])
    #expect(navigator.calls == ["push", "replace"])
    navigator.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(stack == [])
  }

  @Test
  func `A screen that the user removes ends the presentation as abandoned`() async throws {
    let run = flow(step("a"), step("b"), step("c")).start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    navigator.swipeBack()
    await #expect(throws: FlowError.abandoned) { try await run.value }
    #expect(stack == [])
    #expect(navigator.calls == ["push", "push", "pop"])
  }

  @Test func `A host that reports a swipe as back goes back`() async throws {
    let run = flow(step("a"), step("b"), step("c")).start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    navigator.swipeBack()?.handler.back()
    await made.elements(atLeast: 3)
    #expect(stack == ["a"])
    #expect(navigator.calls == ["push", "push", "replace"])
    run.cancel()
    _ = await run.outcome
  }

  @Test func `A replay shows the screens that back leads through`() async throws {
    let (a, b, c) = (step("a"), step("b"), step("c"))
    let run = flow(a, b, c).start(replaying: [.answer(a, 1), .answer(b, 2)])
    await made.elements(atLeast: 3)
    #expect(stack == ["a", "b", "c"])
    navigator.visible?.handler.back()
    await made.elements(atLeast: 4)
    #expect(stack == ["a", "b"])
    #expect(navigator.calls == ["push", "push", "push", "pop", "replace"])
    navigator.visible?.handler.complete(5)
    await made.elements(atLeast: 5)
    navigator.visible?.handler.complete(6)
    #expect(try await run.value == 6)
  }

  @Test func `A step presented alone removes its screen`() async {
    let a = step("a")
    async let answer = a.ask("x")
    await made.elements(atLeast: 1)
    #expect(stack == ["a"])
    navigator.visible?.handler.complete(1)
    #expect(await answer == .answered(1))
    #expect(stack == [])
  }
}
