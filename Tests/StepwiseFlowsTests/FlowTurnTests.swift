// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Where a flow goes after each step.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowTurnTests {
  let scripted = ScriptedSteps()

  @Test func `Next presents the next step with its content`() async throws {
    let first = scripted.step("first", of: Int.self, .complete(2))
    let second = scripted.step("second", of: String.self, .complete(()))
    let flow = Flow<Void>("flow", first: first, content: 1)
      .on(first) { result, step in .next(second, "\(step.content) \(result)") }
    try await flow.run()
    #expect(scripted.presented.elements == ["first 1", "second 1 2"])
  }

  @Test func `Next without content uses the content that is set`() async throws {
    let first = scripted.step("first", .complete(2))
    let second = scripted.step("second", of: Int.self, .complete(()))
    let flow = Flow<Void>("flow", first: first)
      .on(first) { result, _ in
        second.content = result
        return .next(second)
      }
    try await flow.run()
    #expect(scripted.presented.elements == ["first", "second 2"])
  }

  // G122
  @Test func `Back presents the previous step again`() async throws {
    let first = scripted.step("first", .complete(1), .complete(2))
    let second = scripted.step("second", of: Int.self, .back, .complete(()))
    let flow = Flow<Void>("flow", first: first).on(first) { result, _ in .next(second, result) }
    try await flow.run()
    #expect(scripted.presented.elements == ["first", "second 1", "first", "second 2"])
    #expect(flow.answers.map(\.step) == ["first", "second"])
  }

  @Test func `The transition back presents the previous step again`() async throws {
    let first = scripted.step("first", .complete(1), .complete(2))
    let second = scripted.step("second", .complete(()))
    let flow = Flow<Int>("flow", first: first)
      .on(first) { result, _ in result == 1 ? .next(second) : .finish(result) }
      .on(second) { _, _ in .back }
    #expect(try await flow.run() == 2)
    #expect(scripted.presented.elements == ["first", "second", "first"])
  }

  // G122
  @Test func `Back at the first step ends the flow as back`() async {
    let first = scripted.step("first", of: Void.self, Reply<Int>.back)
    let flow = Flow<Void>("flow", first: first)
    await #expect(throws: FlowError.back) { try await flow.run() }
  }

  @Test func `The transition back at the first step ends the flow as back`() async {
    let flow = Flow<Void>("flow", first: scripted.step("first", .complete(1)))
    let first = scripted.step("other", .complete(1))
    let other = Flow<Void>("flow", first: first).on(first) { _, _ in .back }
    await #expect(throws: FlowError.back) { try await other.run() }
    #expect(flow.current == nil)
  }

  // G123
  @Test func `An abandoned step fails the flow`() async throws {
    let flow = Flow<Void>("flow", first: scripted.step("first", of: Void.self, Reply<Int>.drop))
    let error = await #expect(throws: FlowError.abandoned) { try await flow.run() }
    #expect(error?.step == "first")
    guard case .failed(FlowError.abandoned) = await flow.start().outcome else {
      Issue.record("not failed")
      return
    }
  }

  // G123
  @Test func `A cancelled step cancels the flow with its reason`() async {
    let step = scripted.step("first", of: Void.self, Reply<Int>.cancel("no time"), .cancel(nil))
    let flow = Flow<Void>("flow", first: step)
    #expect(await flow.start().outcome.summary == "cancelled no time")
    await #expect(throws: CancellationError.self) { try await flow.run() }
  }

  @Test func `A step without a rule ends the flow`() async throws {
    let flow = Flow<Void>("flow", first: scripted.step("first", .complete("unused")))
    try await flow.run()
  }

  @Test func `A result of the output's type is the output`() async throws {
    let flow = Flow<String>("flow", first: scripted.step("first", .complete("used")))
    #expect(try await flow.run() == "used")
  }

  @Test func `A result of another type without a rule is an error`() async throws {
    let flow = Flow<String>("flow", first: scripted.step("first", .complete(1)))
    let error = await #expect(throws: FlowError.unhandledResult) { try await flow.run() }
    #expect("\(try #require(error))".contains("add on(step)"))
  }

  @Test func `finish and fail end the flow`() async throws {
    let step = scripted.step("first", .complete(1), .complete(2), .complete(3))
    let flow = Flow<String>("flow", first: step).on(step) { result, _ in
      switch result {
      case 1: .finish("one")
      case 2: .fail(Fault(2))
      default: throw Fault(3)
      }
    }
    #expect(try await flow.run() == "one")
    await #expect(throws: Fault(2)) { try await flow.run() }
    await #expect(throws: Fault(3)) { try await flow.run() }
  }

  @Test func `A flow without output finishes without an output`() async throws {
    let step = scripted.step("first", .complete(1))
    try await Flow<Void>("flow", first: step).on(step) { _, _ in .finish }.run()
  }

  @Test func `Replace leaves no way back to the replaced step`() async throws {
    let first = scripted.step("first", .complete(1), .complete(9))
    let login = scripted.step("login", .complete(2))
    let home = scripted.step("home", of: Int.self, Reply<Void>.back)
    let flow = Flow<Int>("flow", first: first)
      .on(first) { result, _ in result == 1 ? .next(login) : .finish(result) }
      .on(login) { result, _ in .replace(home, result) }
    #expect(try await flow.run() == 9)
    #expect(scripted.presented.elements == ["first", "login", "home 2", "first"])
  }

  // G124
  @Test func `Next to a step on the path goes back and truncates the path`() async throws {
    let first = scripted.step("first", .complete(1))
    let second = scripted.step("second", of: Int.self, .complete(2), .wait)
    let third = scripted.step("third", .complete(3))
    let flow = Flow<Void>("flow", first: first)
      .on(first) { result, _ in .next(second, result) }
      .on(second) { _, _ in .next(third) }
      .on(third) { result, _ in .next(second, result) }
    let run = flow.start()
    await scripted.presented.elements(atLeast: 4)
    #expect(scripted.presented.elements == ["first", "second 1", "third", "second 3"])
    #expect(flow.path == [first, second])
    #expect(flow.answers.map(\.step) == ["first"])
    run.cancel()
    _ = await run.outcome
    #expect(flow.path.isEmpty)
  }

  @Test
  func `Linking a step differently does not change the original flow`() async throws {
    let first = scripted.step("first", .complete(1), .complete(1))
    let short = scripted.step("short", .complete("short"))
    let long = scripted.step("long", .complete("long"))
    let a = Flow<String>("flow", first: first).on(first) { _, _ in .next(short) }
    let b = a.on(first) { _, _ in .next(long) }
    #expect(try await a.run() == "short")
    #expect(try await b.run() == "long")
  }

  @Test func `Next to a step without content is an error`() async throws {
    let first = scripted.step("first", .complete(1))
    let second = scripted.step("second", of: Int.self, .complete(()))
    let flow = Flow<Void>("flow", first: first).on(first) { _, _ in .next(second) }
    let error = await #expect(throws: FlowError.noContent) { try await flow.run() }
    #expect(error?.step == "second")
    #expect(scripted.presented.elements == ["first"])
    await #expect(throws: FlowError.noContent) { try await Flow<Void>("flow", first: second).run() }
  }

  // G125
  @Test func `Two steps with one name are an error`() async {
    let first = scripted.step("same", .complete(1))
    let second = scripted.step("same", .complete(1))
    let flow = Flow<Void>("flow", first: first).on(first) { _, _ in .next(second) }.on(second) { _, _ in .finish }
    await #expect(throws: FlowError.duplicateName) { try await flow.run() }
    #expect(scripted.presented.elements.isEmpty)
  }

  @Test
  func `Two steps with one name are an error even if transitions lead there`() async throws {
    let first = scripted.step("first", .complete(1), .complete(1), .complete(1))
    let second = scripted.step("same", .complete(2), .complete(2))
    let third = scripted.step("same", of: Int.self, .complete(3))
    let flow = Flow<Int>("flow", first: first).on(first) { _, _ in .next(second) }.on(second) { _, _ in .next(third, 3)
    }
    let error = await #expect(throws: FlowError.duplicateName) { try await flow.run() }
    #expect(error?.step == "same")
    #expect(scripted.presented.elements == ["first", "same"])
    #expect(third.content == nil)
    let other = scripted.step("first", .complete(4))
    let hidden = Flow<Int>("flow", first: first).on(first) { _, _ in .replace(other) }
    await #expect(throws: FlowError.duplicateName) { try await hidden.run() }
    await #expect(throws: FlowError.duplicateName) {
      try await Flow<Int>("flow", first: first).on(second) { _, _ in .next(first) }.run(startingAt: third, content: 3)
    }
  }
}
