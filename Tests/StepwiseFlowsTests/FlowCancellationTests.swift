// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// A flow is cancelled as a chain is.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowCancellationTests {
  let scripted = ScriptedSteps()
  var step: FlowStep<Void, Int> { scripted.step("first", .wait, .wait) }

  @Test func `The handle cancels a flow with a reason`() async {
    let flow = Flow<Int>("flow", first: step)
    let run = flow.start()
    await scripted.presented.elements(atLeast: 1)
    #expect(run.cancel(reason: "left"))
    #expect(await run.outcome.summary == "cancelled left")
    #expect(run.isFinished)
    #expect(flow.current == nil)
  }

  @Test func `Cancelling the awaiting task cancels the flow`() async {
    let flow = Flow<Int>("flow", first: step)
    let task = Task { try await flow.run() }
    await scripted.presented.elements(atLeast: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `A token around a flow cancels it`() async throws {
    let flow = Flow<Int>("flow", first: step)
    let token = CancellationToken()
    let task = Task { try await withCancellation(by: token) { try await flow.run() } }
    await scripted.presented.elements(atLeast: 1)
    token.cancel(reason: "logged out")
    await #expect(throws: CancellationError.self) { try await task.value }
    guard case .ended(.cancelled(let cancellation)) = await lastEvent(flow) else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "logged out")
  }

  @Test func `A token around start cancels the flow`() async throws {
    let flow = Flow<Int>("flow", first: step)
    let token = CancellationToken()
    let run = try await withCancellation(by: token) { flow.start() }
    await scripted.presented.elements(atLeast: 1)
    token.cancel(reason: "logged out")
    #expect(await run.outcome.summary == "cancelled logged out")
  }

  private func lastEvent(_ flow: Flow<Int>) async -> FlowEvent? {
    var last: FlowEvent?
    for await event in flow.events { last = event }
    return last
  }

  @Test func `Nothing else is presented after a cancel`() async {
    let first = scripted.step("first", .complete(1))
    let second = scripted.step("second", .complete(1))
    var run: Run<Int>?
    let flow = Flow<Int>("flow", first: first).on(first) { _, _ in
      run?.cancel(reason: "now")
      return .next(second)
    }
    run = flow.start()
    #expect(await run?.outcome.summary == "cancelled now")
    #expect(scripted.presented.elements == ["first"])
  }

  @Test func `A cancelled run ignores the rules for endings`() async {
    let first = step
    let flow = Flow<Int>("flow", first: first).on(first, ended: { _, _ in .finish(0) })
    let run = flow.start()
    await scripted.presented.elements(atLeast: 1)
    run.cancel(reason: "stop")
    #expect(await run.outcome.summary == "cancelled stop")
  }

  @Test func `The chain of a step is cancelled with the flow`() async {
    let clock = ManualClock()
    let ended = Recorder<String>()
    let chain = Chain("sleep") { () -> Int in
      try await clock.sleep(until: clock.now.advanced(by: .seconds(1)))
      return 1
    }.finally { state in ended.record("\(state.cancellation?.reason ?? "-")") }
    let flow = Flow<Int>("flow", first: FlowStep("work", running: chain))
    let run = flow.start()
    await clock.sleepers(atLeast: 1)
    run.cancel(reason: "left")
    #expect(await run.outcome.summary == "cancelled left")
    #expect(ended.elements == ["left"])
  }

  @Test func `A chain that is cancelled cancels the flow with its reason`() async {
    let clock = ManualClock()
    let chain = Chain("sleep") { () -> Int in
      try await clock.sleep(until: clock.now.advanced(by: .seconds(1)))
      return 1
    }
    let flow = Flow<Int>("flow", first: FlowStep("work", running: chain))
    let run = flow.start()
    await clock.sleepers(atLeast: 1)
    chain.cancelRuns(reason: "offline")
    #expect(await run.outcome.summary == "cancelled offline")
  }

  @Test func `A flow has one run at a time`() async throws {
    let first = step
    let flow = Flow<Int>("flow", first: first)
    let run = flow.start()
    await scripted.presented.elements(atLeast: 1)
    let error = await #expect(throws: FlowError.alreadyRunning) { try await flow.run() }
    #expect("\(try #require(error))".contains("create a second flow"))
    await #expect(throws: FlowError.alreadyRunning) { try await flow.start().value }
    #expect(flow.current == first)
    scripted.handler(first)?.complete(4)
    #expect(try await run.value == 4)
    let again = flow.start()
    await scripted.presented.elements(atLeast: 2)
    scripted.handler(first)?.complete(5)
    #expect(try await again.value == 5)
  }

  @Test func `A run that is cancelled before it begins frees the flow`() async throws {
    let flow = Flow<Int>("flow", first: scripted.step("first", .complete(1)))
    let run = flow.start()
    run.cancel(reason: "early")
    #expect(await run.outcome.summary == "cancelled early")
    #expect(scripted.presented.elements.isEmpty)
    #expect(try await flow.run() == 1)
  }

  @Test func `A flow that never waits can be cancelled`() async {
    let a = FlowStep<Void, Int>("a") { $0.complete(1) }
    let b = FlowStep<Void, Int>("b") { $0.complete(1) }
    let flow = Flow<Void>("flow", first: a).on(a) { _, _ in .next(b) }.on(b) { _, _ in .next(a) }
    let run = flow.start()
    for await event in flow.events { if case .presented("b") = event { break } }
    run.cancel(reason: "enough")
    #expect(await run.outcome.summary == "cancelled enough")
  }

  @Test func `A finished run retains nothing`() async throws {
    let tracker = LifetimeTracker()
    do {
      let first = scripted.step("first", .complete(1), Reply<Int>.wait)
      let flow = Flow<Int>("flow", first: first)
        .on(first) { [object = tracker.track()] result, _ in withExtendedLifetime(object) { .finish(result) } }
      #expect(try await flow.run() == 1)
      let run = flow.start()
      await scripted.presented.elements(atLeast: 2)
      run.cancel()
      _ = await run.outcome
    }
    await tracker.allReleased()
    #expect(tracker.alive == 0)
  }

  @Test func `Releasing the handle cancels nothing`() async {
    let first = scripted.step("first", .wait, Reply<Int>.drop)
    let flow = Flow<Int>("flow", first: first)
    flow.start()
    await scripted.presented.elements(atLeast: 1)
    #expect(flow.current == first)
    scripted.handler(first)?.complete(1)
    for await _ in flow.events {}
    #expect(flow.answers.count == 1)
  }
}
