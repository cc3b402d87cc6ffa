// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Contents that several have to do with: of a step that is several, of a step in two flows, of a flow that starts elsewhere.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowSharedStepTests {
  let scripted = ScriptedSteps()

  @Test
  func `on follows concurrent steps with separate contents`() async throws {
    let a = scripted.step("a", .complete(1))
    let b = scripted.step("b", of: String.self, .complete("b"))
    b.content = "x"
    let both = FlowStep.all(a, b)
    let flow = Flow<String>("flow", first: both).on(both) { results, step in
      .finish("\(results.0) \(results.1) \(step.content.1)")
    }
    #expect(try await flow.run() == "1 b x")
  }

  @Test
  func `on(_:ended:) follows concurrent steps with separate contents`() async throws {
    let a = scripted.step("a", of: Void.self, Reply<Int>.wait)
    let b = scripted.step("b", of: String.self, Reply<Int>.back)
    b.content = "x"
    let both = FlowStep.all(a, b)
    let flow = Flow<String>("flow", first: both).on(both, ended: { _, step in .finish("ended \(step.content.1)") })
    #expect(try await flow.run() == "ended x")
  }

  @Test func `Concurrent steps show each one's content`() async throws {
    let a = scripted.step("a", of: Int.self, .complete(1), .complete(2))
    let b = scripted.step("b", of: Int.self, .complete(1), .complete(2))
    let both = FlowStep.all(a, b)
    #expect(both.content == nil)
    _ = try await both.result(for: (1, 1))
    a.content = 5
    #expect(try #require(both.content) == (5, 1))
    _ = try await both.result()
    #expect(scripted.presented.elements.sorted() == ["a 1", "a 5", "b 1", "b 1"])
    both.content = (7, 8)
    #expect(a.content == 7 && b.content == 8)
  }

  enum Way: CaseIterable {
    case first, next, replace, startingAt, several
  }

  @Test(arguments: Way.allCases)
  func `A refused flow leaves the other flow's screen unchanged`(way: Way) async throws {
    let shared = scripted.step("shared", of: String.self, Reply<Int>.wait)
    let run = Flow<Int>("one", first: shared, content: "one").start()
    await scripted.presented.elements(atLeast: 1)
    let handler = try #require(scripted.handler(shared))
    let other = scripted.step("other", .complete(1))
    let both = FlowStep.all(shared, other)
    let two =
      switch way {
      case .first, .startingAt: Flow<Void>("two", first: shared, content: "two")
      case .next: Flow<Void>("two", first: other).on(other) { _, _ in .next(shared, "two") }
      case .replace: Flow<Void>("two", first: other).on(other) { _, _ in .replace(shared, "two") }
      case .several: Flow<Void>("two", first: both, content: ("two", ()))
      }
    await #expect(throws: FlowError.alreadyPresented) {
      if way == .startingAt {
        try await two.run(startingAt: shared, content: "three")
      } else {
        try await two.run()
      }
    }
    if way == .several {
      await #expect(throws: FlowError.alreadyPresented) { _ = try await both.result(for: ("two", ())) }
    }
    #expect(handler.content == "one")
    #expect(shared.content == "one")
    handler.complete(1)
    #expect(try await run.value == 1)
  }

  @Test
  func `A flow that starts elsewhere knows the content of its first step`() async throws {
    let first = scripted.step("first", of: String.self, .complete(1), .complete(2), .complete(3))
    let second = scripted.step("second", of: Int.self, .complete(1), .complete(2))
    let flow = Flow<Int>("flow", first: first, content: "Ann")
      .on(second) { _, _ in .next(first) }
    #expect(try await flow.run(startingAt: second, content: 7) == 1)
    first.content = "left over"
    #expect(try await flow.run(startingAt: second) == 2)
    first.content = "its own"
    #expect(try await flow.run(startingAt: first) == 3)
    #expect(scripted.presented.elements == ["second 7", "first Ann", "second 7", "first Ann", "first its own"])
  }

  @Test
  func `Starting elsewhere leaves a first step that another flow presents`() async throws {
    let first = scripted.step("first", of: String.self, Reply<Int>.wait)
    let second = scripted.step("second", .complete(2))
    let run = Flow<Int>("one", first: first, content: "one").start()
    await scripted.presented.elements(atLeast: 1)
    let flow = Flow<Int>("flow", first: first, content: "two")
    #expect(try await flow.run(startingAt: second) == 2)
    #expect(first.content == "one")
    run.cancel()
    _ = await run.outcome
  }

  @Test func `Code after an answer may inspect the flow`() async throws {
    let notes = LineLog()
    var flow: Flow<Void>?
    let first = scripted.step("first", .complete(1))
    let second = FlowStep<String, Int>("second") { handler in
      handler.onContent { _ in notes.write("reported: \(flow?.path.map(\.name) ?? [])") }
      notes.write("presented: \(flow?.path.map(\.name) ?? [])")
      handler.complete(handler.content.count)
    }
    let third = scripted.step("third", of: String.self, .complete(3))
    flow = Flow<Void>("flow", first: first)
      .on(first) { _, _ in
        notes.write("on first: \(flow?.path.map(\.name) ?? []) \(flow?.answers.count ?? -1)")
        return .next(second, "x")
      }
      .on(second) { _, step in
        step.content = "\(flow?.current?.name ?? "-")"
        return .next(third, step.content)
      }
    try await flow?.run()
    #expect(scripted.presented.elements == ["first", "third second"])
    #expect(notes.lines.first == #"on first: ["first"] 0"#)
  }
}
