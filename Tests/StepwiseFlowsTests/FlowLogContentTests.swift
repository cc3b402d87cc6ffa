// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// A log reproduces what the user saw, including the contents that answers which are no longer in it led to.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowLogContentTests {
  struct Profile: Codable, Equatable, Sendable {
    var name: String
    var birthday = Date(timeIntervalSinceReferenceDate: 0.5)
    var link = URL(string: "https://example.org")
  }

  enum Action: String, Codable, Sendable {
    case edit, close
  }

  let scripted = ScriptedSteps()

  /// The flow of the README, in which an edit leads back to the profile.
  private func profileFlow(
    _ profile: FlowStep<Profile, Action>,
    _ edit: FlowStep<String, String>,
    log: FlowLogging = .path
  ) -> Flow<String> {
    Flow<String>("profile flow", first: profile, content: Profile(name: "Ann"), log: log)
      .on(profile) { action, step in action == .edit ? .next(edit, step.content.name) : .finish(step.content.name) }
      .on(edit) { name, _ in .next(profile, Profile(name: name)) }
  }

  private func stored(_ log: FlowLog, for flow: Flow<some Sendable>) throws -> FlowLog {
    // The form of answers and contents does not depend on the options of the encoder.
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    return try JSONDecoder().decode(FlowLog.self, from: encoder.encode(log))
  }

  @Test(arguments: [false, true])
  func `A replay shows the content after an edit`(isStored: Bool) async throws {
    let profile = scripted.step("profile", of: Profile.self, Reply<Action>.complete(.edit), .wait, .complete(.close))
    let edit = scripted.step("edit", of: String.self, .complete("Bob"))
    let flow = profileFlow(profile, edit)
    let run = flow.start()
    await scripted.presented.elements(atLeast: 3)
    var log = flow.answers
    #expect(log.isEmpty)
    run.cancel()
    _ = await run.outcome
    if isStored { log = try stored(stored(log, for: flow), for: flow) }
    #expect(try await flow.replay(answers: log) == "Bob")
  }

  @Test func `Content reached by going back is replayed, too`() async throws {
    let profile = scripted.step("profile", of: String.self, Reply<Bool>.complete(true), .wait, .complete(false))
    let network = scripted.step("network", Reply<String>.complete("Bob"))
    let flow = Flow<String>("flow", first: profile, content: "Ann")
      .on(profile) { isUpdate, step in isUpdate ? .next(network) : .finish(step.content) }
      .on(network) { name, _ in
        profile.content = name
        return .back
      }
    let run = flow.start()
    await scripted.presented.elements(atLeast: 3)
    let log = flow.answers
    run.cancel()
    _ = await run.outcome
    #expect(try await flow.replay(answers: log) == "Bob")
  }

  /// What follows an answer depends on the content with which it was given, not on a later one.
  @Test
  func `Each answer is replayed with the content that the step had`() async throws {
    let count = scripted.step("count", of: Int.self, .complete(1), .complete(1), .complete(1))
    let shown = scripted.step("shown", of: Int.self, Reply<Int>.complete(0), .wait, .complete(7))
    let flow = Flow<Int>("flow", first: count, content: 0)
      .on(count) { step, presented in
        presented.content < 1 ? .next(count, presented.content + step) : .next(shown, presented.content)
      }
      .on(shown) { number, _ in
        if number == 7 { return .finish(7) }
        count.content = 50
        return .next(shown, 51)
      }
    let run = flow.start()
    await scripted.presented.elements(atLeast: 4)
    let log = flow.answers
    #expect(log.map(\.step) == ["count"])
    run.cancel()
    _ = await run.outcome
    count.content = 99
    #expect(try await flow.replay(answers: log) == 7)
    #expect(scripted.presented.elements == ["count 0", "count 1", "shown 1", "shown 51", "shown 51"])
    #expect(count.content == 50)
  }

  @Test
  func `The contents of concurrent steps are replayed`() async throws {
    let a = scripted.step("a", of: Int.self, .complete(1), .wait, .complete(5))
    let b = scripted.step("b", .complete(2), .complete(3), .complete(6))
    let both = FlowStep.all(name: "both", a, b)
    let flow = Flow<Int>("flow", first: both, content: (1, ()))
      .on(both) { results, _ in results.0 == 5 ? .finish(a.content ?? 0) : .next(both, (8, ())) }
    let run = flow.start()
    await scripted.presented.elements(atLeast: 4)
    let log = flow.answers
    run.cancel()
    _ = await run.outcome
    a.content = 9
    #expect(try await flow.replay(answers: stored(log, for: flow)) == 8)
  }

  @Test func `Content that is not Codable stays in memory`() async throws {
    final class Model {
      var name = "Ann"
    }
    let model = Model()
    let step = FlowStep<Model, Int>("step") { handler in handler.complete(handler.content === model ? 1 : 0) }
    let flow = Flow<Int>("flow", first: step, content: model)
    #expect(try await flow.run() == 1)
    let decoded = try stored(flow.answers, for: flow)
    #expect(decoded.map(\.step) == ["step"])
    #expect(try await flow.replay(answers: decoded) == 1)
    #expect(step.content === model)
  }

  @Test func `Content of another shape is a clear error`() async throws {
    let profile = scripted.step("profile", of: Profile.self, Reply<Action>.wait)
    let flow = profileFlow(profile, scripted.step("edit", of: String.self, .wait))
    let json = #"[{"step": "profile", "content": {"title": "Ann"}, "answer": "edit"}]"#
    let log = try JSONDecoder().decode(FlowLog.self, from: Data(json.utf8))
    let error = await #expect(throws: FlowError.wrongAnswer) { try await flow.replay(answers: log) }
    #expect(error?.step == "profile" && error?.detail?.contains("its content") == true)
    #expect(scripted.presented.elements.isEmpty)
  }

  @Test func `Content that another flow presents is unaffected`() async throws {
    let shared = scripted.step("shared", of: String.self, Reply<Int>.complete(1), .wait)
    let last = scripted.step("last", .wait, Reply<Int>.complete(2))
    let flow = Flow<Int>("flow", first: shared, content: "one").on(shared) { _, _ in .next(last) }
    let run = flow.start()
    await scripted.presented.elements(atLeast: 2)
    let log = flow.answers
    run.cancel()
    _ = await run.outcome
    let other = Flow<Int>("other", first: shared, content: "two").start()
    await scripted.presented.elements(atLeast: 3)
    await #expect(throws: FlowError.alreadyPresented) { try await flow.replay(answers: log) }
    #expect(shared.content == "two")
    other.cancel()
    _ = await other.outcome
  }

  // G128
  /// Over 1,000 seeds: a replay of the log, in memory or stored, presents what the user saw last, and the same before it.
  @Test func `A replay shows what the user saw`() async throws {
    for seed in seeds() {
      var dice = SeededGenerator(seed: seed)
      let size = Int.random(in: 2..<5, using: &dice)
      let live = World(size: size, log: Bool.random(using: &dice) ? .path : .all)
      let run = live.flow.start()
      await live.shown.elements(atLeast: 1)
      for turn in 2..<Int.random(in: 3..<15, using: &dice) {
        if live.flow.path.count > 1, Int.random(in: 0..<4, using: &dice) == 0 {
          live.handler?.back()
        } else {
          live.handler?.complete(Int.random(in: 0..<1000, using: &dice))
        }
        await live.shown.elements(atLeast: turn)
      }
      var log = live.flow.answers
      let again = World(size: size, log: .path)
      if Bool.random(using: &dice) { log = try stored(log, for: again.flow) }
      let replay = again.flow.start(replaying: log)
      await again.shown.elements(atLeast: 1)
      let seen = (again.flow.path.map(\.name), again.contents(again.flow.path), again.shown.elements.last)
      let expected = (live.flow.path.map(\.name), live.contents(live.flow.path), live.shown.elements.last)
      if seen != expected { Issue.record("seed \(seed): \(seen) for \(expected)") }
      run.cancel()
      replay.cancel()
      _ = await (run.outcome, replay.outcome)
    }
  }

  /// A flow of a few steps whose answers lead anywhere and set any content.
  @MainActor
  final class World {
    var steps: [FlowStep<Int, Int>] = []
    let shown = Recorder<String>()
    var handler: FlowStepHandler<Int, Int>?
    private(set) var flow: Flow<Int>

    init(size: Int, log: FlowLogging) {
      let first = FlowStep<Int, Int>("0") { _ in }
      flow = Flow<Int>("flow", first: first, content: 0, log: log)
      for number in 0..<size {
        steps.append(
          FlowStep("\(number)") { [unowned self] handler in
            self.handler = handler
            shown.record("\(number): \(handler.content)")
          }
        )
      }
      let steps = steps
      flow = Flow<Int>("flow", first: steps[0], content: 0, log: log)
      for step in steps {
        flow = flow.on(step) { answer, presented in
          let next = steps[answer % steps.count]
          if answer % 7 == 0 { presented.content += 1 }
          if answer % 5 == 0 { steps[(answer / 5) % steps.count].content = answer }
          let content = presented.content + answer
          return answer % 3 == 0 ? .replace(next, content) : .next(next, content)
        }
      }
    }

    func contents(_ path: [AnyFlowStep]) -> [Int?] {
      path.map { step in steps.first { $0 == step }?.content }
    }
  }
}
