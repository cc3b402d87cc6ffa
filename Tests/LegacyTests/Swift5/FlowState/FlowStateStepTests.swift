// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import LegacyFlowState
import StepwiseTesting
import Testing

/// What steps and handlers of LegacyFlowState accept beyond what FlowState did.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowStateStepTests {
  let seen = Recorder<String>()

  @available(*, deprecated)
  @Test
  func `A handler of a more general content receives the step's content`() {
    let handler = FlowStepHandler(Any.self, Int.self)
    handler.contentUpdateHandler = { [seen] content in seen.record("\(content as? String ?? "nothing")") }
    let step = FlowStep(String.self, Int.self, identifier: "any", { _ in handler })
    step.content = "x"
    step.start()
    #expect(seen.elements == ["x"])
    #expect(handler.content as? String == "x")
  }

  @available(*, deprecated)
  @Test
  func `A result from another queue completes the step on the main actor`() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a", next: screens.step("b"))
    step.setCompletion { [seen] _, result in
      MainActor.assertIsolated()
      seen.record("a = \(result ?? 0)")
    }
    step.start()
    let handler = screens.shown["a"]
    await Task.detached { handler?.complete(1) }.value
    #expect(await seen.elements(atLeast: 3) == ["a shows nothing", "a = 1", "b shows nothing"])
  }

  @available(*, deprecated)
  @Test
  func `Results from another queue are delivered in their order`() async {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a")
    step.start()
    let handler = screens.shown["a"]
    await Task.detached { for number in 1...100 { handler?.complete(number) } }.value
    #expect(await seen.elements(atLeast: 101).dropFirst() == ArraySlice((1...100).map { "a = \($0)" }))
  }

  // As a network callback does; the original called what follows on that thread, too.
  @available(*, deprecated)
  @Test
  func `Content set on another thread reaches the handler synchronously`() async {
    await #expect(processExitsWith: .success) {
      let seen = Recorder<String>()
      let step = await OldCallbacks.profile(telling: seen)
      await step.start()
      DispatchQueue.global().async { OldCallbacks.setContent(of: step, telling: seen) }
      #expect(await seen.elements(atLeast: 4) == ["nil", "Bob", "nil", "set"])
    }
  }

  @available(*, deprecated)
  @Test
  func `Steps started on another thread call their intents synchronously`() async {
    await #expect(processExitsWith: .success) {
      let seen = Recorder<String>()
      let step = await OldCallbacks.profile(telling: seen)
      let coordinator = await OldCallbacks.coordinator(of: step, telling: seen)
      DispatchQueue.global().async { OldCallbacks.start(step, coordinator, telling: seen) }
      #expect(await seen.elements(atLeast: 4) == ["Ann", "Ann", "empty", "started"])
    }
  }

  @available(*, deprecated)
  @Test
  func `A result keeps its type when it is no value of Sendable`() {
    final class Box {
      var value = 1
    }
    let step = FlowStep(
      Any.self,
      Box.self,
      identifier: "box",
      { _ in
        let handler = FlowStepHandler(Any.self, Box.self)
        handler.complete(Box())
        return handler
      }
    ) { [seen] _, box in
      seen.record("\(box?.value ?? 0)")
    }
    step.start()
    #expect(seen.elements == ["1"])
  }

  @available(*, deprecated)
  @Test
  func `A concurrent step that was released is not completed`() {
    let screens = OldScreens(telling: seen)
    let step = screens.step("a")
    var both: ConcurentFlowStep? = ConcurentFlowStep(identifier: "both", steps: [step])
    both?.nextStep = screens.step("after")
    both?.start()
    both = nil
    screens.complete("a", 1)
    #expect(seen.elements == ["a shows nothing", "a = 1"])
  }

  @available(*, deprecated)
  @Test
  func `FlowState 1.0's name of a handler is that of the handler`() {
    let intent: FlowStepIntent<String, Int> = FlowStepHandler(String.self, Int.self)
    #expect(intent.content == nil)
  }
}
