// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import StepwiseTracing
import Testing

/// The events of a run, and the diagram of a flow.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowEventTests {
  let scripted = ScriptedSteps()

  private func lines(_ events: some AsyncSequence<FlowEvent, Never> & Sendable) async -> [String] {
    var lines: [String] = []
    for await event in events {
      switch event {
      case .started: lines.append("started")
      case .presented(let step): lines.append("presented \(step)")
      case .answered(let step): lines.append("answered \(step)")
      case .unanswered(let step, let ending): lines.append("unanswered \(step) \(ending)")
      case .ended(let state): lines.append("ended \(state.summary)")
      }
    }
    return lines
  }

  @Test func `Every consumer sees the run`() async throws {
    let first = scripted.step("first", .complete(1))
    let second = scripted.step("second", .wait, Reply<Int>.complete(0))
    let flow = Flow<Int>("flow", first: first).on(first) { _, _ in .next(second) }
    async let early = lines(flow.events)
    async let other = lines(flow.events)
    let run = flow.start()
    await scripted.presented.elements(atLeast: 2)
    async let during = lines(flow.events)
    scripted.handler(second)?.complete(2)
    _ = await run.outcome
    let expected = [
      "started", "presented first", "answered first", "presented second", "answered second", "ended resolved 2",
    ]
    #expect(await lines(flow.events) == expected)
    #expect(await early == expected)
    #expect(await other == expected)
    #expect(await during == expected)
  }

  @Test func `Each run has its own events`() async throws {
    let step = scripted.step("first", .complete(1), .back)
    let flow = Flow<Int>("flow", first: step)
    #expect(try await flow.run() == 1)
    #expect(await lines(flow.events).last == "ended resolved 1")
    _ = try? await flow.run()
    #expect(await lines(flow.events).dropFirst(2).first == "unanswered first back")
    #expect(await lines(flow.events).last?.hasPrefix("ended failed") == true)
  }

  @Test func `Events do not grow with the number of turns`() async throws {
    var turns = 0
    let a = FlowStep<Void, Int>("a") { $0.complete(1) }
    let b = FlowStep<Void, Int>("b") { $0.complete(1) }
    let flow = Flow<Void>("flow", first: a)
      .on(a) { _, _ in .next(b) }
      .on(b) { _, _ in
        turns += 1
        return turns == 1_000 ? .finish : .next(a)
      }
    var events = flow.events.makeAsyncIterator()
    try await flow.run()
    var count = 0
    while await events.next(isolation: #isolation) != nil { count += 1 }
    #expect(count == 6)
  }

  @Test func `Descriptions of events and answers contain no values`() async throws {
    let step = scripted.step("pay", of: String.self, Reply<String>.complete("4111 1111"))
    let flow = Flow<String>("flow", first: step, content: "my card")
    #expect(try await flow.run() == "4111 1111")
    var texts: [String] = []
    for await event in flow.events { texts.append("\(event)") }
    #expect(texts == ["started", "pay presented", "pay answered", "succeeded with String"])
    #expect("\(flow.answers)" == "[pay: answered with String]")
    #expect("\(flow.answers.entries)" == "[pay: answered with \"4111 1111\"]")
    #expect("\(flow.answers[0])" == "pay: answered with String")
    #expect(String(reflecting: flow.answers[0]) == "pay: answered with \"4111 1111\"")

    #expect("\(FlowAnswer.answered("4111 1111"))" == "answered with String")
    #expect(String(reflecting: FlowAnswer.answered("4111 1111")) == "answered(\"4111 1111\")")
    #expect("\(FlowAnswer<String>.back)" == "back")
    #expect("\(FlowEnding.cancelled(Cancellation(reason: "later")))" == "cancelled: later")
  }

  @Test func `Diagrams draw declared steps, and dashed those taken`() async throws {
    let first = scripted.step("say \"hi\" #1", .complete(1))
    let second = scripted.step("second", .complete(2))
    let third = scripted.step("third", .complete(3))
    let flow = Flow<Int>("flow", first: first)
      .on(first, leadsTo: [second, third]) { _, _ in .next(third) }
      .on(second) { _, _ in .finish(0) }
    #expect(
      flow.describe(.text) == """
        - say "hi" #1
          -> second
          -> third
        - second
        - third
          -> end

        """
    )
    #expect(try await flow.run() == 3)
    #expect(
      flow.describe(.mermaid) == """
        flowchart TD
        n0["say #quot;hi#quot; #35;1"]
        n1["second"]
        n2["third"]
        n3(["end"])
        n0 --> n1
        n0 --> n2
        n2 --> n3
        n0 -.-> n2
        n2 -.-> n3

        """
    )
    #expect(flow.describe().contains("  ~> third\n"))
  }

  @Test func `An event names the type of a result and never contains it`() {
    #expect("\(FlowEvent.ended(.resolved("secret")))" == "succeeded with String")
    #expect("\(FlowEvent.answered(step: "ask"))" == "ask answered")
    #expect("\(FlowEvent.unanswered(step: "ask", .back))" == "ask ended without a result: back")
    #expect(String(reflecting: FlowEvent.ended(.resolved("secret"))) == "succeeded with \"secret\"")
  }
}
