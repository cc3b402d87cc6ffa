// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// The content of a step: set at any time, and delivered to the screens.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowContentTests {
  @MainActor
  final class Screen {
    let handler: FlowStepHandler<Int, String>
    var reported: [Int] = []

    init(_ handler: FlowStepHandler<Int, String>) {
      self.handler = handler
      handler.onContent { [weak self] content in self?.reported.append(content) }
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

  // G120
  @Test func `The handler receives the current content, then each new one`() async {
    let step = step
    async let answer = step.ask(1)
    await wall.count.elements(atLeast: 1)
    let screen = wall.screens[0]
    #expect(screen.reported == [1])
    step.content = 2
    step.content = 3
    #expect(screen.reported == [1, 2, 3])
    #expect(screen.handler.content == 3)
    screen.handler.complete("done")
    #expect(await answer == .answered("done"))
  }

  // G120
  @Test func `The handler receives content even after its step`() async {
    let step = step
    async let answer = step.ask(1)
    await wall.count.elements(atLeast: 1)
    let screen = wall.screens[0]
    screen.handler.complete("done")
    #expect(await answer == .answered("done"))
    step.content = 2
    #expect(screen.reported == [1, 2])
    var late: [Int] = []
    screen.handler.onContent { late.append($0) }
    #expect(late == [2])
    step.content = 3
    #expect(late == [2, 3])
  }

  @Test
  func `Presenting a step again does not notify screens that have its content`() async {
    let step = step
    async let first = step.ask(1)
    await wall.count.elements(atLeast: 1)
    wall.screens[0].handler.complete("one")
    #expect(await first == .answered("one"))
    async let second = step.ask()
    await wall.count.elements(atLeast: 2)
    #expect(wall.screens.map(\.reported) == [[1], [1]])
    wall.screens[1].handler.complete("two")
    #expect(await second == .answered("two"))
  }

  @Test func `The content may be set before the step is presented`() async throws {
    let step = FlowStep<Int, Int>("a") { handler in handler.complete(handler.content * 2) }
    step.content = 21
    #expect(try await step.result() == 42)
    #expect(step.content == 21)
  }

  @Test func `A released screen receives no content`() async {
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

  @Test func `Content and answer may be optional`() async throws {
    let step = FlowStep<String?, Int?>("a") { handler in handler.complete(handler.content.map(\.count)) }
    #expect(try await step.result(for: nil) == nil)
    #expect(try await step.result(for: "four") == 4)
    let flow = Flow<Int?>("flow", first: step, content: nil)
    #expect(try await flow.run() == nil)
  }

  @Test
  func `An observer that sets the content gives the next one the newest`() async {
    let step = step
    async let answer = step.ask(0)
    await wall.count.elements(atLeast: 1)
    let handler = wall.screens[0].handler
    var seen: [Int] = []
    handler.onContent { if $0 == 1 { step.content = 2 } }
    handler.onContent { seen.append($0) }
    step.content = 1
    #expect(seen == [0, 2])
    #expect(handler.content == 2)
    handler.complete("done")
    #expect(await answer == .answered("done"))
  }

  @Test
  func `Two screens of one step agree when one of them sets the content`() async {
    let step = step
    async let first = step.ask(0)
    await wall.count.elements(atLeast: 1)
    wall.screens[0].handler.complete("one")
    #expect(await first == .answered("one"))
    async let second = step.ask()
    await wall.count.elements(atLeast: 2)
    wall.screens[0].handler.onContent { if $0 == 1 { step.content = 2 } }
    step.content = 1
    #expect(wall.screens.map(\.handler.content) == [2, 2])
    #expect(wall.screens.map(\.reported.last) == [2, 2])
    wall.screens[1].handler.complete("two")
    #expect(await second == .answered("two"))
  }

  @Test
  func `An observer that sets the content on registration sees the newest`() async {
    let step = step
    async let answer = step.ask(1)
    await wall.count.elements(atLeast: 1)
    let handler = wall.screens[0].handler
    var seen: [Int] = []
    handler.onContent { content in
      if content == 1 { step.content = 2 }
      seen.append(content)
    }
    #expect(handler.content == 2 && wall.screens[0].reported == [1, 2])
    handler.onContent { seen.append($0) }
    #expect(seen.last == 2)
    handler.complete("done")
    #expect(await answer == .answered("done"))
  }

  @Test func `Concurrent steps do not overwrite newer content`() async throws {
    let (a, b) = (step, FlowStep<Int, String>("b") { [wall] handler in wall.show(Screen(handler)) })
    let both = FlowStep.all(a, b)
    async let answer = both.ask((0, 0))
    await wall.count.elements(atLeast: 2)
    let handlers = wall.screens.map(\.handler)
    // The first member to be set sets the other one, then the second time all of them.
    handlers[0].onContent { if $0 == 1 { b.content = 10 } else if $0 == 2 { both.content = (3, 3) } }
    both.content = (1, 1)
    #expect(a.content == 1 && b.content == 10)
    both.content = (2, 2)
    #expect(a.content == 3 && b.content == 3)
    #expect(handlers.map(\.content) == [3, 3])
    #expect(wall.screens.map(\.reported.last) == [3, 3])
    for handler in handlers { handler.complete("done") }
    guard case .answered = await answer else {
      Issue.record("not answered")
      return
    }
  }

  // G121
  /// Over 1,000 seeds: whatever observers set while they are called, all end with the newest content.
  @Test func `All observers end with the newest content`() async {
    for seed in seeds() {
      var dice = SeededGenerator(seed: seed)
      let wall = Wall()
      let step = FlowStep<Int, String>("a") { handler in wall.show(Screen(handler)) }
      for number in 1...3 {
        async let answer = step.ask(number)
        await wall.count.elements(atLeast: number)
        let rules = (0..<3).map { _ in
          (at: Int.random(in: 0..<12, using: &dice), to: Int.random(in: 0..<12, using: &dice))
        }
        var calls = 0
        for rule in rules {
          wall.screens.randomElement(using: &dice)?.handler.onContent { content in
            calls += 1
            if content == rule.at, calls < 50 { step.content = rule.to }
          }
        }
        step.content = Int.random(in: 0..<12, using: &dice)
        let newest = step.content
        if !wall.screens.allSatisfy({ $0.handler.content == newest && $0.reported.last == newest }) {
          Issue.record("seed \(seed): \(wall.screens.map(\.reported)) for \(newest ?? -1)")
        }
        wall.screens.last?.handler.complete("done")
        #expect(await answer == .answered("done"))
      }
    }
  }
}
