// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// A screen presented by `.replace` disappears when its step leaves the path and a lower one is presented.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowReplacingScreenTests {
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
    let step = FlowStep<String, Int>(name, presentation, on: other ?? navigator) { [made] handler in
      made.record(name)
      return Screen(name, handler)
    }
    step.content = name
    return step
  }

  /// Each step follows the one before; 0 leads back to the first.
  private func flow(_ steps: FlowStep<String, Int>...) -> Flow<Int> {
    var flow = Flow<Int>("flow", first: steps[0])
    for (index, step) in steps.enumerated() {
      flow = flow.on(step) { number, _ in
        if number == 0 { return .next(steps[0]) }
        return index + 1 < steps.count ? .next(steps[index + 1]) : .finish(number)
      }
    }
    return flow
  }

  private var stack: [String] { navigator.stack.map(\.name) }

  /// Completes the visible screen and waits until one more is made.
  private func answer(_ number: Int) async {
    let count = made.elements.count
    navigator.visible?.handler.complete(number)
    await made.elements(atLeast: count + 1)
  }

  private func back() async {
    let count = made.elements.count
    #expect(navigator.visible?.handler.back() == true)
    await made.elements(atLeast: count + 1)
  }

  // G129
  @Test func `Back from a replacing screen leaves no dead screen behind`() async throws {
    let run = flow(step("a"), step("b"), step("c", .replace)).start()
    await made.elements(atLeast: 1)
    await answer(1)
    await answer(1)
    #expect(stack == ["a", "c"])
    await back()
    #expect(stack == ["a", "b"])
    await back()
    #expect(stack == ["a"])
    #expect(navigator.visible?.handler.back() == true)
    await #expect(throws: FlowError.back) { try await run.value }
    #expect(stack == [])
  }

  @Test func `Next to a lower step removes each replacing screen`() async throws {
    let run = flow(step("a"), step("b"), step("c", .replace), step("d", .replace)).start()
    await made.elements(atLeast: 1)
    for _ in 0..<3 { await answer(1) }
    #expect(stack == ["a", "d"])
    await answer(0)
    #expect(stack == ["a"])
    run.cancel()
    _ = await run.outcome
    #expect(stack == [])
  }

  @Test func `A replacing screen over another restores it`() async throws {
    let home = Flow<Int>("home", first: step("home")).start()
    await made.elements(atLeast: 1)
    let run = flow(step("a"), step("b", .replace), step("c", .replace)).start()
    await made.elements(atLeast: 2)
    await answer(1)
    await answer(1)
    #expect(stack == ["home", "c"])
    await back()
    #expect(stack == ["home", "b"])
    await back()
    #expect(stack == ["home", "a"])
    run.cancel()
    _ = await run.outcome
    #expect(stack == ["home"])
    home.cancel()
    _ = await home.outcome
  }

  @Test
  func `A replacing screen that is presented again replaces nothing else`() async throws {
    let home = Flow<Int>("home", first: step("home")).start()
    await made.elements(atLeast: 1)
    let a = step("a")
    let b = step("b", .replace)
    let run = flow(a, b).on(b) { _, _ in .next(b) }.start()
    await made.elements(atLeast: 2)
    await answer(1)
    navigator.swipeBack()?.handler.complete(1)
    await made.elements(atLeast: 4)
    #expect(stack == ["home", "b"])
    run.cancel()
    _ = await run.outcome
    home.cancel()
    _ = await home.outcome
  }

  @Test func `A replacing screen on another navigator is removed, too`() async throws {
    let other = InMemoryNavigator<Screen>()
    let (a, b, c) = (step("a"), step("b", on: other), step("c", .replace))
    let run = flow(a, b, c).start()
    await made.elements(atLeast: 1)
    await answer(1)
    other.visible?.handler.complete(1)
    await made.elements(atLeast: 3)
    #expect(stack == ["c"] && other.stack.map(\.name) == ["b"])
    await back()
    #expect(stack == [] && other.stack.map(\.name) == ["b"])
    other.visible?.handler.back()
    await made.elements(atLeast: 5)
    #expect(stack == ["a"] && other.stack.isEmpty)
    run.cancel()
    _ = await run.outcome
    #expect(stack == [])
  }

  @Test
  func `Going back removes a nested flow's replacing screen`() async throws {
    let (a, inner) = (step("a"), step("inner", .replace))
    let nested = FlowStep(flow: Flow<Int>("nested", first: inner))
    let run = Flow<Int>("flow", first: a).on(a) { _, _ in .next(nested) }.start()
    await made.elements(atLeast: 1)
    await answer(1)
    #expect(stack == ["inner"])
    await back()
    #expect(stack == ["a"])
    run.cancel()
    _ = await run.outcome
    #expect(stack == [])
  }

  // G129
  @Test func `A replacing screen stays when its flow ends`() async throws {
    let run = flow(step("a"), step("b", .replace)).start()
    await made.elements(atLeast: 1)
    await answer(1)
    navigator.visible?.handler.complete(3)
    #expect(try await run.value == 3)
    #expect(stack == ["b"])
  }

  /// Over 1,000 seeds: the topmost screen is that of the current step, and each screen is of a step on the path.
  @Test func `The topmost screen is that of the current step`() async {
    for seed in seeds() {
      var dice = SeededGenerator(seed: seed)
      let navigator = InMemoryNavigator<Screen>()
      let made = Recorder<String>()
      let presentations: [FlowPresentation] = [.push, .replace]
      let steps = (0..<5).map { number -> FlowStep<String, Int> in
        let name = "\(number)"
        let step = FlowStep<String, Int>(name, presentations.randomElement(using: &dice) ?? .push, on: navigator) {
          handler in
          made.record(name)
          return Screen(name, handler)
        }
        step.content = name
        return step
      }
      var flow = Flow<Int>("flow", first: steps[0])
      for step in steps {
        flow = flow.on(step) { number, _ in number < 5 ? .next(steps[number]) : .replace(steps[number - 5]) }
          .on(step, ended: { ending, _ in if case .back = ending { .back } else { nil } })
      }
      let run = flow.start()
      await made.elements(atLeast: 1)
      for turn in 2..<14 {
        let handler = navigator.visible?.handler
        if flow.path.count > 1, Int.random(in: 0..<3, using: &dice) == 0 {
          handler?.back()
        } else {
          handler?.complete(Int.random(in: 0..<10, using: &dice))
        }
        await made.elements(atLeast: turn)
        let path = flow.path.map(\.name)
        let stack = navigator.stack.map(\.name)
        guard stack.last == path.last, stack.allSatisfy(path.contains), Set(stack).count == stack.count else {
          Issue.record("seed \(seed), turn \(turn): \(stack) for \(path)")
          break
        }
      }
      run.cancel()
      _ = await run.outcome
    }
  }

  // G128
  @Test func `A replay shows the screen below a step that replaced another`() async throws {
    let cases: [([FlowPresentation], [String])] = [
      ([.push, .push, .replace], ["0", "2", "|"]), ([.push, .replace, .replace], ["2", "|"]),
      ([.push, .replace, .push], ["2", "|"]), ([.push, .push, .present], ["0", "1", "|", "2"]),
    ]
    for (presentations, screens) in cases {
      let live = World(presentations)
      await live.start { number, steps in number == 0 ? .next(steps[1]) : .replace(steps[2]) }
      await live.complete(0)
      await live.complete(1)
      let again = World(presentations)
      await again.start(replaying: live.flow.answers) { number, steps in
        number == 0 ? .next(steps[1]) : .replace(steps[2])
      }
      #expect(live.screens == screens)
      #expect(again.screens == screens, "\(presentations)")
      await live.end()
      await again.end()
    }
  }

  // G128
  /// Over 1,000 seeds: a replay shows the screens that the run shows, and back leads through the same ones.
  @Test func `A replay shows the screens of the run`() async {
    for seed in seeds() {
      var dice = SeededGenerator(seed: seed)
      let presentations: [FlowPresentation] = (0..<5).map { _ in Bool.random(using: &dice) ? .push : .replace }
      let (live, again) = (World(presentations), World(presentations))
      let route: @MainActor (Int, [FlowStep<String, Int>]) -> FlowTransition<Int> = { number, steps in
        number < 5 ? .next(steps[number]) : .replace(steps[number - 5])
      }
      await live.start(route)
      for _ in 0..<Int.random(in: 1..<12, using: &dice) { await live.complete(Int.random(in: 0..<10, using: &dice)) }
      await again.start(replaying: live.flow.answers, route)
      var turn = 0
      while again.screens == live.screens, live.flow.path.count > 1 {
        turn += 1
        await live.back()
        await again.back()
      }
      if again.screens != live.screens {
        Issue.record("seed \(seed), \(presentations), \(turn) times back: \(again.screens) for \(live.screens)")
      }
      await live.end()
      await again.end()
    }
  }

  /// A flow of steps with a navigator, whose answers lead anywhere.
  @MainActor
  final class World {
    let navigator = InMemoryNavigator<Screen>()
    let made = Recorder<String>()
    private(set) var steps: [FlowStep<String, Int>] = []
    private(set) var flow: Flow<Int>
    private var newest: FlowStepHandler<String, Int>?
    private var run: Run<Int>?

    init(_ presentations: [FlowPresentation]) {
      flow = Flow("flow", first: FlowStep<String, Int>("none") { _ in })
      for (number, presentation) in presentations.enumerated() {
        let step = FlowStep<String, Int>("\(number)", presentation, on: navigator) { [unowned self] handler in
          newest = handler
          made.record("\(number)")
          return Screen("\(number)", handler)
        }
        step.content = "\(number)"
        steps.append(step)
      }
    }

    /// The pushed screens, and after a line the presented ones.
    var screens: [String] { navigator.stack.map(\.name) + ["|"] + navigator.presented.map(\.name) }

    func start(
      replaying log: FlowLog = [],
      _ route: @escaping @MainActor (Int, [FlowStep<String, Int>]) -> FlowTransition<Int>
    ) async {
      let steps = steps
      flow = Flow("flow", first: steps[0])
      for step in steps { flow = flow.on(step) { number, _ in route(number, steps) } }
      run = flow.start(replaying: log)
      while flow.current?.isWaitingForResult != true { await Task.yield() }
    }

    func complete(_ number: Int) async { await answer { $0.complete(number) } }
    func back() async { await answer { $0.back() } }

    private func answer(_ answer: (FlowStepHandler<String, Int>) -> Bool) async {
      let count = made.elements.count
      guard let newest, answer(newest) else {
        Issue.record("no screen waits")
        return
      }
      await made.elements(atLeast: count + 1)
      while flow.current?.isWaitingForResult != true { await Task.yield() }
    }

    func end() async {
      run?.cancel()
      _ = await run?.outcome
    }
  }
}
