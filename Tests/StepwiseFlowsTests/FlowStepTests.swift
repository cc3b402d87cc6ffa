// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Asking a step: every ask ends, once, in one of four ways.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowStepTests {
  let scripted = ScriptedSteps()

  // G117
  /// Back and dismissal are answers.
  @Test func `A presentation ends as answered, back, abandoned or cancelled`() async {
    let step = scripted.step("a", of: Int.self, .complete("yes"), .back, .drop, .cancel("no"))
    #expect(await step.ask(1) == .answered("yes"))
    #expect(await step.ask(2) == .back)
    #expect(await step.ask(3) == .abandoned)
    #expect(await step.ask(4) == .cancelled)
    #expect(scripted.presented.elements == ["a 1", "a 2", "a 3", "a 4"])
  }

  @Test func `A result is the answer or an error`() async throws {
    let step = scripted.step("a", of: Int.self, .complete("yes"), .back, .drop, .cancel("no"))
    #expect(try await step.result(for: 1) == "yes")
    await #expect(throws: FlowError.back) { try await step.result(for: 2) }
    await #expect(throws: FlowError.abandoned) { try await step.result(for: 3) }
    await #expect(throws: CancellationError.self) { try await step.result(for: 4) }
  }

  @Test func `The intent is called each time the step is presented`() async {
    let step = scripted.step("a", .complete(1), .complete(2))
    #expect(await step.ask() == .answered(1))
    #expect(await step.ask() == .answered(2))
    #expect(scripted.presented.elements == ["a", "a"])
  }

  // G119
  @Test func `A step can be completed before it has returned`() async throws {
    var isReturned = false
    let step = FlowStep<Void, Int>("a") { handler in
      handler.complete(7)
      #expect(!isReturned)
      isReturned = true
    }
    #expect(try await step.result() == 7)
  }

  // G117
  /// Exactly once, the first wins.
  @Test func `A second complete is ignored`() async throws {
    let step = FlowStep<Void, Int>("a") { handler in
      #expect(!handler.isFinished)
      #expect(handler.complete(1))
      #expect(handler.isFinished)
      #expect(!handler.complete(2))
      #expect(!handler.back())
      #expect(!handler.cancel(reason: "late"))
    }
    #expect(try await step.result() == 1)
  }

  // G118
  /// An abandoned sink completes.
  @Test func `A released handler ends the presentation as abandoned`() async {
    let step = scripted.step("a", of: Void.self, Reply<Int>.wait)
    async let answer = step.ask()
    await scripted.presented.elements(atLeast: 1)
    scripted.release()
    #expect(await answer == .abandoned)
  }

  @Test func `A handler may be released on any thread`() async {
    let kept = Lock<FlowStepHandler<Void, Int>?>(nil)
    let step = FlowStep<Void, Int>("a") { handler in kept.withLock { $0 = handler } }
    async let answer = step.ask()
    while kept.withLock({ $0 == nil }) { await Task.yield() }
    await onForeignThread {
      let handler = kept.withLock { $0.take() }
      #expect(handler != nil)
    }
    #expect(await answer == .abandoned)
  }

  @Test func `A handler may be completed on any thread`() async throws {
    let step = FlowStep<Void, Int>("a") { handler in
      Task.detached { handler.complete(3) }
    }
    #expect(try await step.result() == 3)
  }

  @Test func `Cancelling the presenting task ends the presentation immediately`() async {
    let step = scripted.step("a", of: Void.self, Reply<Int>.wait)
    let task = Task { await step.ask() }
    await scripted.presented.elements(atLeast: 1)
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(scripted.handler(step)?.isFinished == true)
    #expect(scripted.handler(step)?.complete(1) == false)
    #expect(!step.isWaitingForResult)
  }

  /// Not-started work runs nothing.
  @Test func `A task that is already cancelled presents nothing`() async {
    let step = scripted.step("a", .complete(1))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await step.ask()
    }
    #expect(await task.value == .cancelled)
    #expect(scripted.presented.elements.isEmpty)
  }

  @Test func `A step without content cannot be presented`() async {
    let step = scripted.step("a", of: Int.self, .complete(1))
    await #expect(throws: FlowError.noContent) { try await step.result() }
    #expect(await step.ask() == .abandoned)
    #expect(scripted.presented.elements.isEmpty)
    step.content = 5
    #expect(await step.ask() == .answered(1))
  }

  @Test func `A step is not presented twice at the same time`() async throws {
    let step = scripted.step("a", of: Int.self, .wait, .complete(2))
    async let first = step.ask(1)
    await scripted.presented.elements(atLeast: 1)
    let error = await #expect(throws: FlowError.alreadyPresented) { try await step.result(for: 2) }
    #expect("\(try #require(error))".contains("“a” is already waiting for a result"))
    #expect(await step.ask(2) == .abandoned)
    #expect(step.content == 1)
    scripted.handler(step)?.complete(7)
    #expect(await first == .answered(7))
    #expect(await step.ask(2) == .answered(2))
  }

  @Test func `A finished presentation retains nothing`() async {
    let tracker = LifetimeTracker()
    do {
      let step = FlowStep<LifetimeTracker.Tracked, Int>("a") { [token = tracker.track()] handler in
        withExtendedLifetime(token) { _ = handler.complete(1) }
      }
      #expect(await step.ask(tracker.track()) == .answered(1))
    }
    await tracker.allReleased()
    #expect(tracker.alive == 0)
  }
}
