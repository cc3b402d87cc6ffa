// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Steps that are chains, progressions, flows, or several steps at once.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowWorkTests {
  let scripted = ScriptedSteps()

  enum Count: Progression {
    case from(Int), done(Int)

    func next() async throws -> Count {
      switch self {
      case .from(0): .done(42)
      case .from(let number) where number < 0: throw Fault(number)
      case .from(let number): .from(number - 1)
      case .done: try completed()
      }
    }

    var result: Int? {
      if case .done(let number) = self { number } else { nil }
    }
  }

  @Test func `A step can be a chain`() async throws {
    let step = FlowStep("double", running: Chain { (number: Int) in number * 2 })
    #expect(try await step.result(for: 4) == 8)
    #expect(try await Flow<Int>("flow", first: step, content: 5).run() == 10)
  }

  @Test func `The error of a chain is that of its flow and result`() async {
    let step = FlowStep<Int, Int>("fail", running: Chain { (number: Int) in throw Fault(number) })
    await #expect(throws: Fault(4)) { try await step.result(for: 4) }
    await #expect(throws: Fault(5)) { try await Flow<Int>("flow", first: step, content: 5).run() }
    #expect(await step.ask(6) == .abandoned)
  }

  @Test func `A step can be a progression`() async throws {
    let step = FlowStep("count", running: Count.from)
    #expect(try await step.result(for: 3) == 42)
    await #expect(throws: Fault(-1)) { try await step.result(for: -1) }
  }

  @Test func `A step can be another flow`() async throws {
    let inner = scripted.step("inner", of: Int.self, .complete("in"))
    let sub = Flow<String>("sub", first: inner, content: 1)
    let step = FlowStep(flow: sub)
    #expect(step.name == "sub")
    let flow = Flow<Int>("flow", first: step).on(step) { result, _ in .finish(result.count) }
    #expect(try await flow.run() == 2)
    #expect(scripted.presented.elements == ["inner 1"])
  }

  @Test func `A flow can be created for its content`() async throws {
    let inner = scripted.step("inner", of: Int.self, .complete("in"), .complete("in"))
    let step = FlowStep<Int, String>("sub", flow: { number in Flow("sub", first: inner, content: number * 2) })
    #expect(try await step.result(for: 4) == "in")
    #expect(scripted.presented.elements == ["inner 8"])
  }

  @Test func `Back from a flow's first step goes back in the outer flow`() async throws {
    let first = scripted.step("first", .complete(1), .complete(2))
    let inner = scripted.step("inner", .back, .complete("in"))
    let sub = FlowStep(flow: Flow<String>("sub", first: inner))
    let flow = Flow<String>("flow", first: first).on(first) { _, _ in .next(sub) }
    #expect(try await flow.run() == "in")
    #expect(scripted.presented.elements == ["first", "inner", "first", "inner"])
  }

  @Test func `An inner flow ends its outer flow in the same way`() async {
    let inner = scripted.step("inner", of: Void.self, Reply<String>.drop, .cancel("no"))
    let sub = FlowStep(flow: Flow<String>("sub", first: inner))
    let flow = Flow<String>("flow", first: sub)
    await #expect(throws: FlowError.abandoned) { try await flow.run() }
    #expect(await flow.start().outcome.summary == "cancelled no")
  }

  @Test func `An inner flow that is abandoned abandons the outer step`() async throws {
    let inner = scripted.step("inner", of: Void.self, Reply<String>.drop, .drop)
    let sub = FlowStep(flow: Flow<String>("sub", first: inner))
    let flow = Flow<String>("flow", first: sub).on(sub, ended: { ending, _ in .finish("\(ending)") })
    #expect(try await flow.run() == "abandoned")
    let error = await #expect(throws: FlowError.abandoned) { try await sub.result() }
    #expect(error?.step == "sub")
  }

  @Test(arguments: [FlowError.back, .abandoned])
  func `An error of inner work is not an ending of the flow`(error: FlowError) async throws {
    let first = scripted.step("first", .complete(1))
    let work = FlowStep<Void, String>("work", running: Chain { throw error })
    let sub = FlowStep(flow: Flow<String>("sub", first: work))
    let flow = Flow<String>("flow", first: first)
      .on(first) { _, _ in .next(sub) }
      .on(
        sub,
        ended: { ending, _ in if case .failed(let error) = ending { .fail(error) } else { .finish("\(ending)") } }
      )
    await #expect(throws: error) { try await flow.run() }
    #expect(scripted.presented.elements == ["first"])
  }

  @Test func `Cancelling the outer flow cancels the inner one`() async {
    let inner = scripted.step("inner", of: Void.self, Reply<String>.wait)
    let innerFlow = Flow<String>("sub", first: inner)
    let run = Flow<String>("flow", first: FlowStep(flow: innerFlow)).start()
    await scripted.presented.elements(atLeast: 1)
    run.cancel(reason: "left")
    #expect(await run.outcome.summary == "cancelled left")
    #expect(innerFlow.current == nil)
    #expect(!inner.isWaitingForResult)
  }

  // G126
  @Test func `All presents several steps at once and returns all results`() async throws {
    let a = scripted.step("a", of: Int.self, Reply<Int>.wait)
    let b = scripted.step("b", of: String.self, .complete("b"))
    let c = FlowStep("c", running: Chain { (flag: Bool) in !flag })
    let all = FlowStep.all(a, b, c)
    #expect(all.name == "a + b + c")
    async let results = all.result(for: (1, "x", true))
    await scripted.presented.elements(atLeast: 2)
    #expect(Set(scripted.presented.elements) == ["a 1", "b x"])
    scripted.handler(a)?.complete(7)
    let (number, text, flag) = try await results
    #expect(number == 7 && text == "b" && flag == false)
  }

  @Test func `All uses the contents that its steps have`() async throws {
    let a = scripted.step("a", .complete(1))
    let b = scripted.step("b", of: String.self, .complete("b"))
    let flow = Flow<(Int, String)>("flow", first: FlowStep.all(a, b))
    await #expect(throws: FlowError.noContent) { _ = try await flow.run() }
    b.content = "x"
    let (number, text) = try await flow.run()
    #expect(number == 1 && text == "b")
  }

  @Test func `The end of one step cancels its siblings`() async {
    let a = scripted.step("a", of: Void.self, Reply<Int>.wait)
    let b = scripted.step("b", of: Void.self, Reply<Int>.back)
    guard case .back = await FlowStep.all(a, b).ask() else {
      Issue.record("not back")
      return
    }
    #expect(scripted.handler(a)?.isFinished == true)
    #expect(!a.isWaitingForResult && !b.isWaitingForResult)
    let failing = FlowStep<Void, Int>("failing", running: Chain { throw Fault(1) })
    let patient = scripted.step("patient", of: Void.self, Reply<Int>.wait)
    await #expect(throws: Fault(1)) { _ = try await FlowStep.all(patient, failing).result() }
    #expect(scripted.handler(patient)?.isFinished == true)
  }

  @Test func `Cancelling all cancels each`() async {
    let a = scripted.step("a", of: Void.self, Reply<Int>.wait)
    let b = scripted.step("b", of: Void.self, Reply<Int>.wait)
    let task = Task { await FlowStep.all(a, b).ask() }
    await scripted.presented.elements(atLeast: 2)
    task.cancel()
    guard case .cancelled = await task.value else {
      Issue.record("not cancelled")
      return
    }
    #expect(!a.isWaitingForResult && !b.isWaitingForResult)
  }

  @Test func `Any number of steps of one kind run together`() async throws {
    let steps = (0..<20).map { scripted.step("step \($0)", .complete($0)) }
    #expect(try await FlowStep.all(name: "all", steps).result() == Array(0..<20))
    #expect(try await FlowStep.all([FlowStep<Void, Int>]()).result() == [])
  }

  @Test func `A step cannot be presented beside itself`() async {
    let a = scripted.step("a", .wait, Reply<Int>.wait)
    await #expect(throws: FlowError.alreadyPresented) { _ = try await FlowStep.all(a, a).result() }
  }
}
