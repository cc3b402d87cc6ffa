// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// What `on(_:ended:)` changes, and what it leaves as it is.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowEndingTests {
  let scripted = ScriptedSteps()

  private func name(_ ending: FlowEnding) -> String {
    switch ending {
    case .back: "back"
    case .abandoned: "abandoned"
    case .cancelled(let cancellation): "cancelled \(cancellation.reason ?? "-")"
    case .failed(let error): "failed \(error)"
    }
  }

  @Test func `Each ending can lead elsewhere`() async throws {
    let step = scripted.step("first", of: Int.self, Reply<Int>.back, .drop, .cancel("no"))
    let flow = Flow<String>("flow", first: step, content: 7)
      .on(step, ended: { ending, step in .finish("\(step.content) \(name(ending))") })
    #expect(try await flow.run() == "7 back")
    #expect(try await flow.run() == "7 abandoned")
    #expect(try await flow.run() == "7 cancelled no")
  }

  @Test func `The failure of a chain can lead elsewhere`() async throws {
    let work = FlowStep<Int, Int>("work", running: Chain { (_: Int) in throw Fault(3) })
    let flow = Flow<String>("flow", first: work, content: 1).on(work, ended: { ending, _ in .finish(name(ending)) })
    #expect(try await flow.run() == "failed Fault(number: 3)")
    await #expect(throws: Fault(3)) { try await Flow<Int>("flow", first: work, content: 1).run() }
  }

  @Test func `An ending rule that returns nil changes nothing`() async throws {
    let first = scripted.step("first", .complete(1), .complete(2))
    let second = scripted.step("second", of: Void.self, Reply<Int>.back, .drop, .cancel("no"))
    let flow = Flow<Int>("flow", first: first)
      .on(first) { _, _ in .next(second) }
      .on(second, ended: { _, _ in nil })
    await #expect(throws: FlowError.abandoned) { try await flow.run() }
    #expect(scripted.presented.elements == ["first", "second", "first", "second"])
  }

  @Test func `An ending may lead to another step`() async throws {
    let first = scripted.step("first", of: Void.self, Reply<Int>.drop)
    let rescue = scripted.step("rescue", of: String.self, .complete(1))
    let flow = Flow<Int>("flow", first: first)
      .on(first, ended: { ending, _ in .next(rescue, name(ending)) })
    #expect(try await flow.run() == 1)
    #expect(scripted.presented.elements == ["first", "rescue abandoned"])
    #expect(flow.answers.map(\.step) == ["first", "rescue"])
  }

  @Test func `Both kinds of on can be combined`() async throws {
    let step = scripted.step("first", .complete(1), .back)
    let flow = Flow<String>("flow", first: step)
      .on(step) { result, _ in .finish("\(result)") }
      .on(step, ended: { _, _ in .finish("ended") })
    #expect(try await flow.run() == "1")
    #expect(try await flow.run() == "ended")
  }

  @Test func `An error of an ending rule fails the flow`() async {
    let step = scripted.step("first", of: Void.self, Reply<Int>.back)
    let flow = Flow<Int>("flow", first: step).on(step, ended: { _, _ in throw Fault(1) })
    await #expect(throws: Fault(1)) { try await flow.run() }
  }
}
