// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The content of a step: set at any time, and told to the screens.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowContentTests {
  @MainActor
  final class Screen {
    let handler: FlowStepHandler<Int, String>
    var told: [Int] = []

    init(_ handler: FlowStepHandler<Int, String>) {
      self.handler = handler
      handler.onContent { [weak self] content in self?.told.append(content) }
    }
  }

  @MainActor
  final class Wall {
    var screens: [Screen] = []
    let count = Recorder<Int>()

    func show(_ screen: Screen) {
      screens.append(screen)
      count.record(screens.count)
    }
  }

  let wall = Wall()
  var step: FlowStep<Int, String> {
    FlowStep("a") { [wall] handler in wall.show(Screen(handler)) }
  }

  @Test func theHandlerIsToldTheCurrentContentThenEachNewOne() async {
    let step = step
    async let answer = step.ask(1)
    await wall.count.elements(atLeast: 1)
    let screen = wall.screens[0]
    #expect(screen.told == [1])
    step.content = 2
    step.content = 3
    #expect(screen.told == [1, 2, 3])
    #expect(screen.handler.content == 3)
    screen.handler.complete("done")
    #expect(await answer == .answered("done"))
  }

  @Test func theHandlerIsToldAlsoWhenTheStepIsPast() async {
    let step = step
    async let answer = step.ask(1)
    await wall.count.elements(atLeast: 1)
    let screen = wall.screens[0]
    screen.handler.complete("done")
    #expect(await answer == .answered("done"))
    step.content = 2
    #expect(screen.told == [1, 2])
    var late: [Int] = []
    screen.handler.onContent { late.append($0) }
    #expect(late == [2])
    step.content = 3
    #expect(late == [2, 3])
  }

  @Test func askingAgainDoesNotTellTheContentToScreensThatKnowIt() async {
    let step = step
    async let first = step.ask(1)
    await wall.count.elements(atLeast: 1)
    wall.screens[0].handler.complete("one")
    #expect(await first == .answered("one"))
    async let second = step.ask()
    await wall.count.elements(atLeast: 2)
    #expect(wall.screens.map(\.told) == [[1], [1]])
    wall.screens[1].handler.complete("two")
    #expect(await second == .answered("two"))
  }

  @Test func theContentMayBeSetBeforeTheStepIsAsked() async throws {
    let step = FlowStep<Int, Int>("a") { handler in handler.complete(handler.content * 2) }
    step.content = 21
    #expect(try await step.result() == 42)
    #expect(step.content == 21)
  }

  @Test func aScreenThatHasGoneIsNotTold() async {
    let step = step
    let tracker = LifetimeTracker()
    for number in 0..<100 {
      async let answer = step.ask(number)
      await wall.count.elements(atLeast: number + 1)
      let screen = wall.screens.last
      screen?.handler.onContent { [object = tracker.track()] _ in withExtendedLifetime(object) {} }
      screen?.handler.complete("done")
      #expect(await answer == .answered("done"))
    }
    #expect(tracker.alive == 100)
    wall.screens = []
    await tracker.allReleased()
    step.content = 5
    #expect(tracker.alive == 0)
  }

  @Test func contentAndAnswerMayBeOptionals() async throws {
    let step = FlowStep<String?, Int?>("a") { handler in handler.complete(handler.content.map(\.count)) }
    #expect(try await step.result(for: nil) == nil)
    #expect(try await step.result(for: "four") == 4)
    let flow = Flow<Int?>("flow", first: step, content: nil)
    #expect(try await flow.run() == nil)
  }
}
