// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// The flow follows a user who leaves several screens at once, or leaves while work runs.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowBackTests {
  typealias Screen = WalkPage

  let navigator = InMemoryNavigator<Screen>()
  let made = Recorder<String>()

  private func page(_ name: String, _ presentation: FlowPresentation = .push) -> FlowStep<Void, WalkAnswer> {
    FlowStep(name, presentation, on: navigator) { [made] handler in
      made.record(name)
      return Screen(name, handler)
    }
  }

  private func pages(_ names: String...) -> [FlowStep<Void, WalkAnswer>] { names.map { page($0) } }

  /// Each step follows the one before.
  private func flow(_ steps: [FlowStep<Void, WalkAnswer>], log: FlowLogging = .path) -> Flow<WalkAnswer> {
    var flow = Flow<WalkAnswer>("flow", first: steps[0], log: log)
    for (step, next) in zip(steps, steps.dropFirst()) { flow = flow.on(step) { _, _ in .next(next) } }
    return flow
  }

  private var top: FlowStepHandler<Void, WalkAnswer>? { navigator.visible?.handler }
  private var stack: [String] { navigator.stack.map(\.name) }

  /// Completes one page after the other until so many were made.
  private func complete(until count: Int) async {
    await made.elements(atLeast: 1)
    while made.elements.count < count {
      let next = made.elements.count + 1
      top?.complete(.finish)
      await made.elements(atLeast: next)
    }
  }

  private func end<Output>(_ run: Run<Output>) async {
    run.cancel()
    _ = await run.outcome
    #expect(stack == [] && navigator.presented.isEmpty)
  }

  private func leave(_ count: Int) {
    let left = (0..<count).compactMap { _ in navigator.swipeBack() }
    for screen in left { #expect(screen.handler.back()) }
  }

  private func texts(of flow: Flow<WalkAnswer>) async -> [String] {
    var texts: [String] = []
    for await event in flow.events { texts.append("\(event)") }
    return texts
  }

  // G150
  @Test(arguments: 1...3) func `Back over several screens presents none in between`(count: Int) async {
    let flow = flow(pages("a", "b", "c", "d"))
    let run = flow.start()
    await complete(until: 4)
    leave(count)
    await made.elements(atLeast: 5)
    #expect(flow.path.map(\.name) == Array(["a", "b", "c", "d"].dropLast(count)))
    #expect(stack == flow.path.map(\.name))
    #expect(made.elements.count == 5)
    await end(run)
  }

  // G150
  @Test func `A handler goes back once, until its step has left the path`() async throws {
    let flow = flow(pages("a", "b", "c"))
    let run = flow.start()
    await complete(until: 3)
    let handlers = navigator.stack.map(\.handler)
    let b = handlers[1]
    let calls = await Task.detached { [b.back(), b.back()] }.value
    #expect(calls == [true, false])
    await made.elements(atLeast: 4)
    #expect(made.elements.last == "a" && stack == ["a"])
    // Each of them belongs to an earlier presentation.
    #expect(handlers.map { $0.back() } == [false, false, false])
    #expect(handlers[2].complete(.finish) == false)
    #expect(top?.back() == true && top?.back() == false)
    await #expect(throws: FlowError.back) { try await run.value }
    #expect(handlers[0].back() == false)
  }

  // G150
  @Test func `A handler that has ended otherwise does not go back`() async {
    let run = flow(pages("a", "b")).start()
    await complete(until: 2)
    let handlers = navigator.stack.map(\.handler)
    #expect(handlers[1].cancel(reason: "later"))
    #expect(handlers[1].back() == false)
    #expect(await run.outcome.summary == "cancelled later")
    #expect(handlers.map { $0.back() } == [false, false])
  }

  // G150
  @Test func `One back over three screens is three single backs`() async throws {
    func run(_ isSingle: Bool) async -> ([String], [String], [String]) {
      let test = FlowBackTests()
      let flow = test.flow(test.pages("a", "b", "c", "d"), log: .all)
      let run = flow.start()
      await test.complete(until: 4)
      let events = Task { await texts(of: flow) }
      if isSingle {
        for count in 5..<8 {
          test.leave(1)
          await test.made.elements(atLeast: count)
        }
      } else {
        test.leave(3)
        await test.made.elements(atLeast: 5)
      }
      let result = (flow.path.map(\.name), flow.answers.map(\.description))
      let replayed = FlowBackTests()
      let again = replayed.flow(replayed.pages("a", "b", "c", "d"), log: .all)
      let replay = again.start(replaying: flow.answers)
      await replayed.made.elements(atLeast: 1)
      #expect(again.path.map(\.name) == ["a"])
      await replayed.end(replay)
      await test.end(run)
      return (result.0, result.1, await events.value.filter { !$0.hasSuffix("presented") }.sorted())
    }
    let (one, three) = (await run(false), await run(true))
    #expect(one == three)
  }

  enum Way: CaseIterable { case next, finish, fail }

  // G151
  @Test(arguments: Way.allCases) func `A rule decides in the middle of a back over several screens`(way: Way)
    async throws
  {
    let steps = pages("a", "b", "c", "d")
    let e = page("e")
    let flow = flow(steps).on(
      steps[2],
      ended: { _, _ in
        switch way {
        case .next: .next(e)
        case .finish: .finish(.replace("done"))
        case .fail: throw Fault(7)
        }
      }
    )
    let run = flow.start()
    await complete(until: 4)
    leave(3)
    switch way {
    case .next:
      await made.elements(atLeast: 5)
      #expect(flow.path.map(\.name) == ["a", "e"] && stack == ["a", "e"])
      let answers = flow.answers
      await end(run)
      let replay = flow.start(replaying: answers)
      await made.elements(atLeast: 7)
      #expect(flow.path.map(\.name) == ["a", "e"] && stack == ["a", "e"])
      leave(1)
      await made.elements(atLeast: 8)
      #expect(flow.path.map(\.name) == ["a"])
      await end(replay)
    case .finish: #expect(try await run.value == .replace("done"))
    case .fail: await #expect(throws: Fault(7)) { try await run.value }
    }
    #expect(stack == [])
  }

  // G152
  @Test(arguments: 0..<3) func `Back while work runs cancels it and waits for its undos`(point: Int) async {
    let clock = ManualClock()
    let notes = Recorder<String>()
    var chain = Chain(undo: { (_: String) in notes.record("undone") }) { (text: String) in text }
    for index in 0..<3 {
      chain = chain.then { text in
        if index == point { try await clock.sleep(for: .seconds(1)) }
        return text
      }
    }
    let (a, b) = (page("a"), page("b"))
    let save = FlowStep("save", running: chain.finally { _ in notes.record("finally") })
    let flow = Flow<WalkAnswer>("flow", first: a).on(a) { _, _ in .next(b) }.on(b) { _, _ in .next(save, "x") }
      .on(save) { _, _ in .finish(.finish) }
    let run = flow.start()
    await complete(until: 2)
    top?.complete(.finish)
    await clock.sleepers(atLeast: 1)
    leave(1)
    await made.elements(atLeast: 3)
    #expect(made.elements == ["a", "b", "a"])
    #expect(notes.elements == ["undone", "finally"])
    #expect(flow.path.map(\.name) == ["a"])
    await end(run)
  }

  // G153
  @Test(arguments: [true, false]) func `Work that finishes runs on, and its rule may end the flow`(isFinal: Bool)
    async throws
  {
    let clock = ManualClock()
    let chain = Chain { (text: String) in
      try await clock.sleep(for: .seconds(1))
      return text
    }
    let (a, b, done) = (page("a"), page("b"), page("done"))
    let save = FlowStep("save", running: chain, onBack: .finishes)
    let flow = Flow<WalkAnswer>("flow", first: a).on(a) { _, _ in .next(b) }.on(b) { _, _ in .next(save, "x") }
      .on(save) { _, _ in isFinal ? .finish(.finish) : .next(done) }
    let run = flow.start()
    await complete(until: 2)
    #expect(navigator.isBackAllowed)
    top?.complete(.finish)
    await clock.sleepers(atLeast: 1)
    #expect(!navigator.isBackAllowed)
    leave(1)
    for _ in 0..<100 { await Task.yield() }
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    if isFinal {
      #expect(try await run.value == .finish)
    } else {
      await made.elements(atLeast: 3)
      #expect(made.elements == ["a", "b", "a"] && navigator.isBackAllowed)
      await end(run)
    }
  }

  // G154
  @Test(arguments: [true, false]) func `Back skips work, unless its rule leads elsewhere`(hasRule: Bool) async {
    let (form, done, other) = (page("form"), page("done"), page("other"))
    let saves = Recorder<String>()
    let save = FlowStep("save", running: Chain { (text: String) in saves.record(text) })
    var flow = Flow<WalkAnswer>("flow", first: form).on(form) { _, _ in .next(save, "x") }.on(save) { _, _ in
      .next(done)
    }
    if hasRule { flow = flow.on(save, ended: { _, _ in .next(other) }) }
    let run = flow.start()
    await complete(until: 2)
    leave(1)
    await made.elements(atLeast: 3)
    #expect(made.elements.last == (hasRule ? "other" : "form"))
    #expect(saves.elements == ["x"])
    run.cancel()
    _ = await run.outcome
  }

  // G155
  @Test func `Code goes back to a step on the path`() async {
    let steps = pages("a", "b", "c", "d")
    let flow = flow(steps)
    #expect(!flow.back(to: steps[0]) && !flow.backToFirst())
    let run = flow.start()
    await complete(until: 4)
    #expect(!flow.back(to: page("x")))
    #expect(flow.back(to: steps[3]))
    for _ in 0..<50 { await Task.yield() }
    #expect(stack == ["a", "b", "c", "d"] && made.elements.count == 4)
    #expect(flow.back(to: steps[1]))
    await made.elements(atLeast: 5)
    #expect(stack == ["a", "b"] && flow.current == steps[1])
    #expect(flow.backToFirst())
    await made.elements(atLeast: 6)
    #expect(stack == ["a"] && flow.current == steps[0])
    run.cancel()
    #expect(!flow.backToFirst())
    await end(run)
  }

  // G156
  @Test func `A flow that is cancelled can be started at once`() async {
    let flow = flow(pages("a", "b"))
    var run = flow.start()
    for round in 0..<scaled(1_000) {
      let isBegun = round.isMultiple(of: 2)
      if isBegun { while navigator.stack.isEmpty { await Task.yield() } }
      let old = run
      old.cancel(reason: "deep link")
      run = flow.start()
      #expect(await old.outcome.summary == "cancelled deep link")
    }
    while navigator.stack.isEmpty { await Task.yield() }
    #expect(stack == ["a"] && flow.path.map(\.name) == ["a"] && !run.isFinished)
    await #expect(throws: FlowError.alreadyRunning) { try await flow.run() }
    await end(run)
  }

  // G156
  @Test(arguments: 0..<12) func `A flow that is cancelled at its end can be started at once`(turns: Int) async {
    let flow = flow(pages("a"))
    let old = flow.start()
    await complete(until: 1)
    top?.back()
    for _ in 0..<turns { await Task.yield() }
    old.cancel()
    let run = flow.start()
    await made.elements(atLeast: 2)
    #expect(stack == ["a"] && flow.path.map(\.name) == ["a"] && !run.isFinished)
    await end(run)
  }

  // G157
  @Test func `A kill after saving loses no answer`() async throws {
    let steps = pages("a", "b", "c")
    let inner = pages("n1", "n2")
    let nested = FlowStep("N", flow: self.flow(inner))
    let logs = Recorder<(FlowLog, [String])>()
    let base = flow(steps).on(steps[1]) { _, _ in .next(nested) }.on(nested) { _, _ in .next(steps[2]) }
    let flow = base.saving { [navigator] log in logs.record((log, navigator.stack.map(\.name))) }
    let run = flow.start()
    await complete(until: 4)
    try #require(logs.elements.map(\.0.count) == [1, 2, 3])
    #expect(logs.elements.map(\.1) == [["a"], ["a", "b"], ["a", "b", "n1"]])
    await end(run)
    let replay = base.start(replaying: logs.elements[2].0)
    await made.elements(atLeast: 8)
    #expect(stack == ["a", "b", "n1", "n2"])
    await end(replay)
  }

  // G157
  @Test func `An error of saving fails the flow, and a replay does not save`() async {
    let steps = pages("a", "b", "c")
    let saves = Recorder<Int>()
    let flow = flow(steps).saving { log in
      saves.record(log.count)
      if log.count == 2 { throw Fault(2) }
    }
    let run = flow.start(replaying: [.answer(steps[0], .finish)])
    await made.elements(atLeast: 2)
    #expect(saves.elements == [])
    top?.complete(.finish)
    await #expect(throws: Fault(2)) { try await run.value }
    #expect(flow.answers.count == 2 && stack == [] && !made.elements.contains("c"))
  }

  // G157
  @Test func `The user may go back while the answers are saved`() async {
    let clock = ManualClock()
    let steps = pages("a", "b", "c", "d")
    let flow = flow(steps).saving { log in if log.count == 3 { try await clock.sleep(for: .seconds(1)) } }
    let run = flow.start()
    await complete(until: 3)
    top?.complete(.finish)
    await clock.sleepers(atLeast: 1)
    leave(2)
    clock.advance(by: .seconds(1))
    await made.elements(atLeast: 4)
    #expect(made.elements == ["a", "b", "c", "a"] && stack == ["a"])
    await end(run)
  }

  // G157
  @Test func `A run that is cancelled while its answers are saved presents nothing more`() async {
    let clock = ManualClock()
    let flow = flow(pages("a", "b")).saving { _ in try await clock.sleep(for: .seconds(1)) }
    let run = flow.start()
    await complete(until: 1)
    top?.complete(.finish)
    await clock.sleepers(atLeast: 1)
    run.cancel(reason: "left")
    #expect(await run.outcome.summary == "cancelled left")
    #expect(made.elements == ["a"] && flow.answers.map(\.step) == ["a"] && clock.sleeperCount == 0)
    await end(run)
  }

  @MainActor
  final class SlowNavigator: FlowNavigator {
    private(set) var screens: [Screen] = []
    let animations = ManualClock()
    func push(_ screen: Screen) {}
    func replace(_ screen: Screen?, with newScreen: Screen) {}
    func pop(_ screen: Screen) {}
    func present(_ screen: Screen) async {
      screens.append(screen)
      try? await animations.sleep(for: .seconds(1))
    }
    func dismiss(_ screen: Screen) async {
      try? await animations.sleep(for: .seconds(1_000))
      screens.removeAll { $0 === screen }
    }
  }

  // G158
  @Test func `A dismissal that never returns delays a flow by the limit alone`() async {
    let (slow, limit) = (SlowNavigator(), ManualClock())
    let step = FlowStep<Void, WalkAnswer>("sheet", .present, on: slow) { Screen("sheet", $0) }
    let flow = Flow<WalkAnswer>("flow", first: step).dismissLimit(.seconds(10), clock: limit)
    let run = flow.start()
    await slow.animations.sleepers(atLeast: 1)
    slow.animations.advance(by: .seconds(1))
    let events = Task { await texts(of: flow) }
    run.cancel(reason: "left")
    await limit.sleepers(atLeast: 1)
    limit.advance(by: .seconds(9))
    for _ in 0..<50 { await Task.yield() }
    #expect(!run.isFinished)
    limit.advance(by: .seconds(1))
    #expect(await run.outcome.summary == "cancelled left")
    #expect(await events.value.contains { $0.contains("dismiss") && $0.contains("WalkPage") })
    slow.animations.advance(by: .seconds(1_000))
  }

  @Test func `A sheet that is swiped down while it appears ends as back`() async {
    let slow = SlowNavigator()
    let step = FlowStep<Void, WalkAnswer>("sheet", .present, on: slow) { Screen("sheet", $0) }
    let run = Flow<WalkAnswer>("flow", first: step).start()
    await slow.animations.sleepers(atLeast: 1)
    let handler = slow.screens.last?.handler
    #expect(handler?.back() == true && handler?.back() == false)
    slow.animations.advance(by: .seconds(1))
    await slow.animations.sleepers(atLeast: 1)
    slow.animations.advance(by: .seconds(1_000))
    await #expect(throws: FlowError.back) { try await run.value }
  }

  @Test func `Two navigators in one flow each have their own stack`() async {
    let other = InMemoryNavigator<Screen>()
    let (a, c) = (page("a"), page("c", .replace))
    let b = FlowStep<Void, WalkAnswer>("b", .push, on: other) { [made] in
      made.record("b")
      return Screen("b", $0)
    }
    let flow = flow([a, b, c])
    let run = flow.start()
    await made.elements(atLeast: 1)
    let covered = top
    top?.complete(.finish)
    await made.elements(atLeast: 2)
    other.visible?.handler.complete(.finish)
    await made.elements(atLeast: 3)
    // Its screen was replaced, so the host's report of that means nothing.
    #expect(covered?.back() == false)
    #expect(other.swipeBack()?.handler.back() == true)
    await made.elements(atLeast: 4)
    #expect(stack == ["a"] && other.stack.isEmpty && flow.path == [a])
    await end(run)
  }

  @Test func `Going back retains no page`() async {
    let tracker = LifetimeTracker()
    let steps = ["a", "b", "c"].map { name in
      FlowStep<Void, WalkAnswer>(name, .push, on: navigator) { [made] handler in
        made.record(name)
        let object = tracker.track()
        handler.onContent { _ in withExtendedLifetime(object) {} }
        return Screen(name, handler)
      }
    }
    let run = flow(steps).start()
    await complete(until: 3)
    for round in 1..<scaled(1_000) {
      leave(2)
      await made.elements(atLeast: round * 3 + 1)
      await complete(until: round * 3 + 3)
    }
    #expect(tracker.alive <= 3)
    await end(run)
  }
}
