// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Replaying a log: one that was kept in a file, one that does not fit, and one that is cancelled.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowReplayTests {
  struct Order: Codable, Equatable, Sendable {
    enum Size: String, Codable, Sendable {
      case small, large
    }

    var name: String
    var size: Size?
    var weights: [Double]
    var flags: [String: Bool]
    var number: UInt64
  }

  static let order = Order(
    name: "Bob",
    size: .large,
    weights: [1, 2.5, -3e9],
    flags: ["a": true, "b": false],
    number: .max
  )

  let scripted = ScriptedSteps()

  /// The second step is named by what follows the first, and by nothing else.
  private func flow<Answer>(
    _ second: FlowStep<String, Answer>,
    _ third: FlowStep<String, Int>
  ) -> Flow<String> {
    let first = scripted.step("first", of: String.self, Reply<Bool>.complete(true))
    return Flow<String>("flow", first: first, content: "Ann", log: .all)
      .on(first) { _, step in .next(second, step.content) }
      .on(third) { number, step in .finish("\(step.content) \(number)") }
  }

  private func keepAndReplay<Answer: Codable & Sendable & Equatable>(_ answer: Answer) async throws {
    let (before, after) = (ScriptedSteps(), ScriptedSteps())
    func steps(_ scripted: ScriptedSteps) -> (FlowStep<String, Bool>, FlowStep<String, Answer>, FlowStep<String, Int>) {
      (
        scripted.step("first", of: String.self, .complete(true)),
        scripted.step("second", of: String.self, .complete(answer)),
        scripted.step("third", of: String.self, .complete(3))
      )
    }
    func flow(
      _ steps: (FlowStep<String, Bool>, FlowStep<String, Answer>, FlowStep<String, Int>)
    ) -> Flow<Answer> {
      Flow<Answer>("flow", first: steps.0, content: "Ann").on(steps.0) { _, step in .next(steps.1, step.content) }
    }
    let old = flow(steps(before))
    #expect(try await old.run() == answer)
    let new = flow(steps(after))
    var log = try JSONDecoder().decode(FlowLog.self, from: JSONEncoder().encode(old.answers))
    // Also when it is stored again before it was decoded.
    log = try JSONDecoder().decode(FlowLog.self, from: JSONEncoder().encode(log))
    #expect(log.map(\.step) == ["first", "second"])
    #expect(try await new.replay(answers: log) == answer)
    #expect(after.presented.elements.isEmpty)
    #expect(new.answers.last?.result as? Answer == answer)
  }

  @Test
  func `A step that only a transition names is decoded when it is replayed`() async throws {
    try await keepAndReplay("Bob")
    try await keepAndReplay(7)
    try await keepAndReplay(7.5)
    try await keepAndReplay(UInt64.max)
    try await keepAndReplay(Int8.min)
    try await keepAndReplay(true)
    try await keepAndReplay(String?.none)
    try await keepAndReplay(String?.some("x"))
    try await keepAndReplay([[1, 2], [], [3]])
    try await keepAndReplay(["a": [1.5], "b": []])
    try await keepAndReplay(Self.order)
    try await keepAndReplay([Self.order])
    try await keepAndReplay(Order.Size.small)
  }

  @Test
  func `A step without a result that only a transition names is replayed, too`() async throws {
    let second = scripted.step("second", of: Void.self, Reply<Void>.complete(()))
    let first = scripted.step("first", Reply<Bool>.complete(true))
    let flow = Flow<Void>("flow", first: first).on(first) { _, _ in .next(second) }
    let log: FlowLog = [.answer(first, true), .answer(second, ())]
    try await flow.replay(answers: JSONDecoder().decode(FlowLog.self, from: JSONEncoder().encode(log)))
    #expect(scripted.presented.elements.isEmpty)
    #expect(flow.answers.last?.result is Void)
  }

  @Test(arguments: [#""large""#, #"{"name": "Bob"}"#, "null", "300"])
  func `An answer of another shape is found when it is replayed`(json: String) async throws {
    let second = scripted.step("second", of: String.self, Reply<Int8>.complete(1))
    let flow = flow(second, scripted.step("third", of: String.self, .complete(3)))
    let data = Data(#"[{"step": "first", "answer": true}, {"step": "second", "answer": \#(json)}]"#.utf8)
    let log = try JSONDecoder().decode(FlowLog.self, from: data)
    let error = await #expect(throws: FlowError.wrongAnswer) { try await flow.replay(answers: log) }
    #expect(error?.step == "second")
    #expect(scripted.presented.elements.isEmpty)
  }

  /// A renamed step is detected, and no step is presented.
  @Test
  func `A step that the flow does not have is reported when it is replayed`() async throws {
    let second = scripted.step("second", of: String.self, Reply<Int>.complete(1))
    let flow = flow(second, scripted.step("third", of: String.self, .complete(3)))
    let log = try JSONDecoder().decode(FlowLog.self, from: Data(#"[{"step": "frist", "answer": true}]"#.utf8))
    let error = await #expect(throws: FlowError.unknownStep) { try await flow.replay(answers: log) }
    #expect(error?.step == "frist")
    #expect(scripted.presented.elements.isEmpty)
  }

  @Test
  func `An answer is decoded by the type of its step when it is replayed`() async throws {
    let second = scripted.step("second", of: String.self, Reply<Int>.complete(1))
    let first = scripted.step("first", Reply<Bool>.complete(true))
    let flow = Flow<Int>("flow", first: first).on(first) { _, _ in .next(second, "x") }
    try await flow.run()
    let log = try JSONDecoder().decode(FlowLog.self, from: JSONEncoder().encode(flow.answers))
    #expect(log.last?.result == nil)
    let presented = scripted.presented.elements.count
    #expect(try await flow.replay(answers: log) == 1)
    #expect(flow.answers.last?.result as? Int == 1)
    #expect(scripted.presented.elements.count == presented)
  }

  @Test func `A cancelled replay goes no further`() async {
    let counts = LineLog()
    let first = scripted.step("first", of: Int.self, Reply<Bool>.wait)
    let second = scripted.step("second", of: Int.self, Reply<Bool>.wait)
    var run: Run<Void>?
    let flow = Flow<Void>("flow", first: first, content: 0)
      .on(first) { _, step in .next(second, step.content + 1) }
      .on(second) { _, step in
        counts.write("\(step.content)")
        if step.content == 100 { run?.cancel(reason: "enough") }
        return .next(first, step.content)
      }
    let log = FlowLog(
      (0..<10_000).flatMap { _ in [FlowLogEntry.answer(first, true), FlowLogEntry.answer(second, true)] }
    )
    run = flow.start(replaying: log)
    #expect(await run?.outcome.summary == "cancelled enough")
    #expect(counts.lines.count == 100)
    #expect(scripted.presented.elements.isEmpty)
  }

  @Test(arguments: [FlowEnding.back, .cancelled(Cancellation(reason: "no"))])
  func `A log with answers left over does not fit`(ending: FlowEnding) async {
    let first = scripted.step("first", Reply<Bool>.wait)
    let second = scripted.step("second", Reply<Bool>.wait)
    let flow = Flow<Void>("flow", first: first).on(first) { _, _ in .next(second) }
    let error = await #expect(throws: FlowError.wrongStep) {
      try await flow.replay(answers: [.ended(first, ending), .answer(second, true)])
    }
    #expect(error?.step == "first")
    #expect(scripted.presented.elements.isEmpty)
  }
}
