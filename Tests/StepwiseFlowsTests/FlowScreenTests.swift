// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Screens in the place of others: whatever is shown is taken away again, and nothing else is.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowScreenTests {
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

  private func step(
    _ name: String,
    _ presentation: FlowPresentation = .push,
    on other: InMemoryNavigator<Screen>? = nil
  ) -> FlowStep<String, Int> {
    FlowStep(name, presentation, on: other ?? navigator) { [made] handler in
      made.record(name)
      return Screen(name, handler)
    }
  }

  private var stack: [String] { navigator.stack.map(\.name) }

  private func answer(_ number: Int, then count: Int) async {
    navigator.visible?.handler.complete(number)
    await made.elements(atLeast: count)
  }

  @Test func `A retained screen that is no longer shown replaces no other`() async throws {
    let home = Flow<Int>("home", first: step("home"), content: "h").start()
    await made.elements(atLeast: 1)
    let a = step("a")
    let run = Flow<Int>("flow", first: a, content: "x")
      .on(a, ended: { ending, _ in if case .back = ending { .next(a) } else { nil } })
      .start()
    await made.elements(atLeast: 2)
    let kept = navigator.swipeBack()
    #expect(stack == ["home"])
    kept?.handler.back()
    await made.elements(atLeast: 3)
    #expect(stack == ["home", "a"])
    #expect(navigator.calls == ["push", "push", "push"])
    navigator.visible?.handler.complete(1)
    #expect(try await run.value == 1)
    #expect(stack == ["home"])
    home.cancel()
    _ = await home.outcome
    withExtendedLifetime(kept) {}
  }

  @Test
  func `A replacing screen replaces the topmost one`() async throws {
    let (a, b) = (step("a", .replace), step("b", .replace))
    let run = Flow<Int>("flow", first: a, content: "x").on(a) { _, _ in .next(b, "y") }.start()
    await made.elements(atLeast: 1)
    let kept = navigator.stack
    await answer(1, then: 2)
    navigator.visible?.handler.back()
    await made.elements(atLeast: 3)
    #expect(stack == ["a"])
    run.cancel()
    _ = await run.outcome
    withExtendedLifetime(kept) {}
  }

  @Test
  func `A presented step that replaces a pushed one removes its screen`() async throws {
    let (a, b, c) = (step("a"), step("b", .present), step("c"))
    let run = Flow<Int>("flow", first: a, content: "x")
      .on(a) { _, _ in .replace(b, "y") }
      .on(b) { _, _ in .next(c, "z") }
      .start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    #expect(stack == ["a"] && navigator.presented.map(\.name) == ["b"], "it stays beneath")
    await answer(1, then: 3)
    navigator.visible?.handler.back()
    await made.elements(atLeast: 4)
    #expect(stack == ["a"] && navigator.presented.map(\.name) == ["b"])
    await answer(1, then: 5)
    navigator.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(stack == [] && navigator.presented.isEmpty)
    let turn = ["present", "dismiss", "push", "pop"]
    #expect(navigator.calls == ["push"] + turn + turn + ["pop"])
  }

  @Test
  func `A step that replaces a presented one replaces the screen beneath`() async throws {
    let (a, b, c, d) = (step("a"), step("b", .present), step("c", .present), step("d"))
    let run = Flow<Int>("flow", first: a, content: "x")
      .on(a) { _, _ in .replace(b, "y") }
      .on(b) { _, _ in .replace(c, "y") }
      .on(c) { _, _ in .replace(d, "y") }
      .start()
    await made.elements(atLeast: 1)
    await answer(1, then: 2)
    let kept = navigator.presented
    await answer(1, then: 3)
    await answer(1, then: 4)
    #expect(stack == ["d"])
    navigator.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(stack == [])
    #expect(navigator.calls == ["push", "present", "dismiss", "present", "dismiss", "replace", "pop"])
    withExtendedLifetime(kept) {}
  }

  @Test func `A step on another navigator removes the replaced screen`() async throws {
    let other = InMemoryNavigator<Screen>()
    let (a, b) = (step("a"), step("b", on: other))
    let run = Flow<Int>("flow", first: a, content: "x").on(a) { _, _ in .replace(b, "y") }.start()
    await made.elements(atLeast: 1)
    let kept = navigator.stack
    await answer(1, then: 2)
    #expect(stack == [] && other.stack.map(\.name) == ["b"])
    other.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(navigator.calls == ["push", "pop"] && other.calls == ["push", "pop"])
    withExtendedLifetime(kept) {}
  }

  @Test
  func `A step that is presented repeatedly retains no old screen`() async throws {
    let tracker = LifetimeTracker()
    let (a, b) = (
      step("a"),
      FlowStep<String, Int>("b", .present, on: navigator) { [made] handler in
        made.record("b")
        let object = tracker.track()
        handler.onContent { _ in withExtendedLifetime(object) {} }
        return Screen("b", handler)
      }
    )
    let run = Flow<Int>("flow", first: a, content: "x")
      .on(a) { _, _ in .replace(b, "y") }
      .on(b) { number, _ in number == 0 ? .finish(0) : .next(b) }
      .start()
    await made.elements(atLeast: 1)
    for count in 2..<102 { await answer(1, then: count) }
    #expect(tracker.alive <= 2)
    navigator.visible?.handler.complete(0)
    #expect(try await run.value == 0)
    #expect(stack == [] && navigator.presented.isEmpty)
  }

  @Test
  func `A replay shows the replacing screens that going back leads through`() async throws {
    let (a, b, c) = (step("a", .replace), step("b"), step("c"))
    let flow = Flow<Int>("flow", first: a, content: "x")
      .on(a) { _, _ in .next(b, "y") }
      .on(b) { _, _ in .next(c, "z") }
    let run = flow.start(replaying: [.answer(a, 1), .answer(b, 2)])
    await made.elements(atLeast: 3)
    #expect(stack == ["a", "b", "c"])
    navigator.visible?.handler.back()
    await made.elements(atLeast: 4)
    navigator.visible?.handler.back()
    await made.elements(atLeast: 5)
    #expect(stack == ["a"])
    run.cancel()
    _ = await run.outcome
    #expect(stack == ["a"])
  }
}
