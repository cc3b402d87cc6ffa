// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// The answer log: what it keeps, replaying it, and keeping it in a file.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowLogTests {
  enum Action: String, Codable, Sendable {
    case edit, quit
  }

  let scripted = ScriptedSteps()

  /// profile -> edit -> confirm -> end; each step has the script given.
  private func flow(
    _ profile: FlowStep<String, Action>,
    _ edit: FlowStep<String, String>,
    _ confirm: FlowStep<String, Bool>,
    log: FlowLogging = .path
  ) -> Flow<String> {
    Flow<String>("flow", first: profile, content: "Ann", log: log)
      .on(profile) { action, step in action == .quit ? .finish("quit") : .next(edit, step.content) }
      .on(edit) { name, _ in .next(confirm, name) }
      .on(confirm) { isSure, step in
        if isSure { return .finish(step.content) }
        profile.content = step.content
        return .next(profile)
      }
  }

  private func steps() -> (FlowStep<String, Action>, FlowStep<String, String>, FlowStep<String, Bool>) {
    (
      scripted.step("profile", of: String.self, .wait), scripted.step("edit", of: String.self, .wait),
      scripted.step("confirm", of: String.self, .wait)
    )
  }

  @Test func `The log has the answers along the path`() async throws {
    let profile = scripted.step("profile", of: String.self, Reply<Action>.complete(.edit), .wait)
    let edit = scripted.step("edit", of: String.self, .complete("Bob"), .complete("Cid"), .wait)
    let confirm = scripted.step("confirm", of: String.self, .back, .complete(false), .wait)
    let flow = flow(profile, edit, confirm)
    let run = flow.start()
    await scripted.presented.elements(atLeast: 6)
    #expect(
      scripted.presented.elements == [
        "profile Ann", "edit Ann", "confirm Bob", "edit Ann", "confirm Cid", "profile Cid",
      ]
    )
    #expect(flow.answers.isEmpty)
    scripted.handler(profile)?.complete(.edit)
    await scripted.presented.elements(atLeast: 7)
    #expect(flow.answers.map(\.step) == ["profile"])
    scripted.handler(edit)?.complete("Dan")
    await scripted.presented.elements(atLeast: 8)
    #expect(flow.answers.map(\.step) == ["profile", "edit"])
    #expect(flow.answers.last?.result as? String == "Dan")
    run.cancel()
    _ = await run.outcome
  }

  @Test func `With log all, a flow keeps every answer`() async throws {
    let profile = scripted.step("profile", of: String.self, Reply<Action>.complete(.edit), .complete(.quit))
    let edit = scripted.step("edit", of: String.self, .complete("Bob"), .complete("Cid"))
    let confirm = scripted.step("confirm", of: String.self, .back, .complete(false))
    let flow = flow(profile, edit, confirm, log: .all)
    #expect(try await flow.run() == "quit")
    #expect(flow.answers.map(\.step) == ["profile", "edit", "confirm", "edit", "confirm", "profile"])
    let presented = scripted.presented.elements.count
    #expect(try await flow.replay(answers: flow.answers) == "quit")
    #expect(scripted.presented.elements.count == presented)
  }

  @Test func `A flow is replayed from answers and continues there`() async throws {
    let (profile, edit, _) = steps()
    let confirm = scripted.step("confirm", of: String.self, .complete(true))
    let flow = flow(profile, edit, confirm)
    #expect(try await flow.replay(answers: [.answer(profile, .edit), .answer(edit, "Bob")]) == "Bob")
    #expect(scripted.presented.elements == ["confirm Bob"])
    #expect(flow.answers.map(\.step) == ["profile", "edit", "confirm"])
    #expect(try await flow.replay(answers: flow.answers) == "Bob")
    #expect(scripted.presented.elements == ["confirm Bob"])
  }

  @Test func `Going back after a replay presents the previous step`() async throws {
    let (profile, _, _) = steps()
    let edit = scripted.step("edit", of: String.self, .complete("Cid"))
    let confirm = scripted.step("confirm", of: String.self, .back, .complete(true))
    let flow = flow(profile, edit, confirm)
    let run = flow.start(replaying: [.answer(profile, .edit), .answer(edit, "Bob")])
    #expect(try await run.value == "Cid")
    #expect(scripted.presented.elements == ["confirm Bob", "edit Ann", "confirm Cid"])
  }

  @Test(arguments: [false, true])
  func `An unfinished run is resumed where it was`(isCancelled: Bool) async throws {
    let profile = scripted.step("profile", of: String.self, Reply<Action>.complete(.edit))
    let edit = scripted.step("edit", of: String.self, .complete("Bob"))
    let confirm = scripted.step("confirm", of: String.self, isCancelled ? .cancel("later") : .drop, .complete(true))
    let flow = flow(profile, edit, confirm)
    _ = try? await flow.run()
    #expect(flow.answers.map(\.step) == ["profile", "edit"])
    #expect(try await flow.replay(answers: flow.answers) == "Bob")
    #expect(scripted.presented.elements == ["profile Ann", "edit Ann", "confirm Bob", "confirm Bob"])
  }

  @Test func `With log all, a replay ends as the run did`() async throws {
    let profile = scripted.step("profile", of: String.self, Reply<Action>.complete(.edit))
    let edit = scripted.step("edit", of: String.self, Reply<String>.cancel("later"))
    let (_, _, confirm) = steps()
    let flow = flow(profile, edit, confirm, log: .all)
    #expect(await flow.start().outcome.summary == "cancelled later")
    #expect(await flow.start(replaying: flow.answers).outcome.summary == "cancelled later")
    #expect(scripted.presented.elements == ["profile Ann", "edit Ann"])
  }

  // G127
  @Test func `A flow starts at any step`() async throws {
    let (profile, edit, _) = steps()
    let confirm = scripted.step("confirm", of: String.self, .complete(true), .complete(true), .back, .complete(true))
    let flow = flow(profile, edit, confirm)
    #expect(try await flow.run(startingAt: confirm, content: "Zoe") == "Zoe")
    #expect(try await flow.run(startingAt: confirm, content: "Yan") == "Yan")
    await #expect(throws: FlowError.back) { try await flow.run(startingAt: confirm) }
    #expect(try await flow.run(startingAt: confirm) == "Yan")
  }

  @Test func `Answers that are Codable can be checkpointed`() async throws {
    let (profile, edit, _) = steps()
    let confirm = scripted.step("confirm", of: String.self, .complete(true))
    let first = flow(profile, edit, confirm)
    try await first.replay(answers: [
      .answer(profile, .edit), .answer(edit, "Bob"),
    ])
    let data = try JSONEncoder().encode(first.answers)

    let again = ScriptedSteps()
    let newConfirm = again.step("confirm", of: String.self, Reply<Bool>.wait)
    let new = flow(
      again.step("profile", of: String.self, .wait),
      again.step("edit", of: String.self, .wait),
      newConfirm
    )
    let answers = try JSONDecoder().decode(FlowLog.self, from: data)
    #expect(answers.map(\.step) == ["profile", "edit", "confirm"])
    #expect(answers[0].result == nil)
    #expect(try await new.replay(answers: answers) == "Bob")
    #expect(again.presented.elements.isEmpty)
  }

  @Test func `Endings and answers without values are stored, too`() throws {
    let ok = scripted.step("ok", .complete(()))
    let log: FlowLog = [
      .answer(ok, ()), .ended(ok, .back), .ended(ok, .abandoned), .ended(ok, .cancelled(Cancellation(reason: "no"))),
      .ended(ok, .failed(Fault(3))),
    ]
    let decoded = try JSONDecoder().decode(FlowLog.self, from: JSONEncoder().encode(log))
    #expect(decoded.count == 5)
    #expect(decoded[0].ending == nil)
    guard case .back = decoded[1].ending, case .abandoned = decoded[2].ending,
      case .cancelled(let cancellation) = decoded[3].ending, case .failed(let error) = decoded[4].ending
    else {
      Issue.record("other endings")
      return
    }
    #expect(cancellation.reason == "no")
    #expect(error as? FlowError == .recordedFailure)
    #expect("\(error)".contains("Fault(number: 3)"))
  }

  @Test func `An answer that is not Codable is an error that names the step`() async throws {
    struct Opaque: Sendable {}
    let step = scripted.step("opaque", .complete(Opaque()))
    let error = #expect(throws: FlowError.notCodable) {
      try JSONEncoder().encode([.answer(step, Opaque())] as FlowLog)
    }
    #expect(error?.step == "opaque")
    let log = try JSONDecoder().decode(FlowLog.self, from: Data(#"[{"step": "opaque", "answer": 1}]"#.utf8))
    let replayed = await #expect(throws: FlowError.notCodable) {
      try await Flow<Void>("flow", first: step).replay(answers: log)
    }
    #expect(replayed?.step == "opaque")
    #expect(scripted.presented.elements.isEmpty)
  }

  /// A renamed step and a renamed case are found out, and do not trap.
  @Test(
    arguments: [
      #"[{"step": "profil"}]"#,
      #"[{"step": "profile", "answer": "erase"}]"#,
      #"[{"step": "profile", "answer": 5}]"#,
      #"[{"step": "profile"}]"#,
      #"[{"step": "profile", "ending": "exploded"}]"#,
    ]
  )
  func `A log of an older shape is a clear error`(json: String) async {
    let (profile, edit, confirm) = steps()
    let flow = flow(profile, edit, confirm)
    await #expect(throws: FlowError.wrongAnswer) {
      try await flow.replay(answers: JSONDecoder().decode(FlowLog.self, from: Data(json.utf8)))
    }
    #expect(scripted.presented.elements.isEmpty)
  }

  @Test func `A log that does not fit fails the replay and presents no step`() async {
    let (profile, edit, confirm) = steps()
    let stranger = scripted.step("stranger", .complete(1))
    let imposter = scripted.step("profile", .complete(1))
    let flow = flow(profile, edit, confirm)
    await #expect(throws: FlowError.unknownStep) { try await flow.replay(answers: [.answer(stranger, 1)]) }
    await #expect(throws: FlowError.wrongStep) {
      try await flow.replay(answers: [.answer(profile, .edit), .answer(confirm, true)])
    }
    await #expect(throws: FlowError.wrongAnswer) { try await flow.replay(answers: [.answer(imposter, 1)]) }
    await #expect(throws: FlowError.wrongStep) {
      try await flow.replay(answers: [.answer(profile, .quit), .answer(edit, "more")])
    }
    #expect(scripted.presented.elements.isEmpty)
    #expect(flow.current == nil)
  }
}
