// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// Each piece of new code of Migration.md about flows, beside the old code: both do the same.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowPairTests {
  final class Entry: EntryScreen {
    let handler: FlowStepHandler<String, String>

    init(_ handler: FlowStepHandler<String, String>) {
      self.handler = handler
      super.init()
      handler.onContent { [weak self] text in self?.text = text }
    }

    override func save(_ newText: String) { handler.complete(newText) }
    override func leave() { handler.back() }
  }

  let navigator = EntryNavigator()
  let oldNavigator = EntryNavigator()
  let new = Recorder<String>()
  let old = Recorder<String>()

  private func shown(by navigator: EntryNavigator) async -> EntryScreen? {
    await navigator.shown.elements(atLeast: 1)
    return navigator.visible
  }

  private func editName() -> FlowStep<String, String> {
    let navigator = navigator
    let editName = FlowStep<String, String>("Edit Name", .push, on: navigator) { handler in Entry(handler) }
    return editName
  }

  private func count() -> FlowStep<String, Int> {
    let count = FlowStep("count", running: Chain { (text: String) in text.count })
    return count
  }

  private final class Display: EntryScreen {
    var handler: FlowStepHandler<String, String>?

    override func save(_ newText: String) { handler?.complete(newText) }
  }

  @Test(arguments: [true, false]
  )
  func `A step presented again makes a new screen by default`(isOld: Bool) async throws {
    let old = Display()
    let display = FlowStep<String, String>("display", .push, on: navigator) { handler in
      let screen = isOld ? old : Display()
      screen.handler = handler
      screen.text = handler.content
      return screen
    }
    let edit = editName()
    let flow = Flow<Void>("profile", first: display, content: "Ann")
      .on(display, leadsTo: [edit]) { name, _ in .next(edit, name) }
      .on(edit) { name, _ in
        display.content = name
        return .back
      }
    let run = flow.start()
    let first = try #require(await shown(by: navigator))
    first.save("Ann")
    await navigator.shown.elements(atLeast: 2)
    navigator.visible?.save("Ada")
    await navigator.shown.elements(atLeast: 3)
    #expect((navigator.visible === first) == isOld)
    #expect(navigator.visible?.text == "Ada")
    navigator.visible?.save("Eve")
    await navigator.shown.elements(atLeast: 4)
    run.cancel()
    _ = await run.outcome
  }

  @available(*, deprecated)
  @Test(arguments: ["Ada", nil]) func `A step and its handler become a step`(name: String?) async throws {
    let oldStep = OldFlowSteps.editName(oldNavigator)
    oldStep.tell(old, content: "Ann")
    let editName = editName()
    let answer = Task { await editName.ask("Ann") }

    for navigator in [oldNavigator, navigator] {
      let entry = try #require(await shown(by: navigator))
      #expect(entry.text == "Ann")
      if let name { entry.save(name) } else { entry.leave() }
    }
    #expect(await answer.value == (name.map(FlowAnswer.answered) ?? .back))
    #expect(await old.elements(atLeast: 1) == [name ?? "nothing"])
  }

  @available(*, deprecated)
  @Test func `Work becomes a step`() async throws {
    OldFlowSteps.count().tell(old, content: "four")
    #expect(try await count().result(for: "four") == 4)
    #expect(await old.elements(atLeast: 1) == ["4"])
  }

  @available(*, deprecated)
  @Test func `Linked steps become a flow`() async throws {
    let new = new
    let show: @MainActor (Int) -> Void = { number in new.record("\(number)") }
    let editName = editName()
    let count = count()

    let flow = Flow<Void>("rename", first: editName, content: "Ann")
      .on(editName, leadsTo: [count]) { newName, _ in .next(count, newName) }
      .on(count) { number, _ in
        show(number)
        return .finish
      }
    flow.start()

    let oldFlow = OldFlowSteps.linked(oldNavigator) { [old] number in old.record("\(number)") }
    defer { withExtendedLifetime(oldFlow) {} }
    for navigator in [oldNavigator, navigator] {
      let entry = try #require(await shown(by: navigator))
      #expect(entry.text == "Ann")
      entry.save("Grace")
    }
    #expect(await new.elements(atLeast: 1) == ["5"])
    #expect(await old.elements(atLeast: 1) == ["5"])
  }

  @available(*, deprecated)
  @Test func `A step without a result becomes a step of Void`() async throws {
    let new = new
    let show: @MainActor (String) -> Void = { text in new.record(text) }

    let tour = FlowStep<Void, Bool?>("tour") { handler in handler.complete(nil) }
    let flow = Flow<Void>("tour", first: tour).on(tour) { liked, _ in
      show(liked == nil ? "skipped" : "seen")
      return .finish
    }
    try await flow.run()

    OldFlowSteps.withoutAHandler { [old] text in old.record(text) }
    #expect(new.elements == ["skipped"])
    #expect(await old.elements(atLeast: 1) == ["skipped"])
  }

  @available(*, deprecated)
  @Test func `Concurrent steps become one call`() async throws {
    let new = new
    let show: @MainActor (Int, Int) -> Void = { new.record("\($0), \($1)") }
    let left = count()
    let right = count()

    let both = FlowStep.all(left, right)
    let (first, second) = try await both.result(for: ("four", "seven"))
    show(first, second)

    OldFlowSteps.concurrent { [old] in old.record("\($0), \($1)") }
    #expect(new.elements == ["4, 5"])
    #expect(await old.elements(atLeast: 1) == ["4, 5"])
  }

  @available(*, deprecated)
  @Test func `A coordinator becomes a flow`() async throws {
    let editName = editName()

    let flow = Flow<String>("rename", first: editName, content: "Ann")
    let run = flow.start()

    let coordinator = OldFlowSteps.coordinator(oldNavigator)
    defer { withExtendedLifetime(coordinator) {} }
    for navigator in [oldNavigator, navigator] {
      #expect(try #require(await shown(by: navigator)).text == "Ann")
    }
    navigator.visible?.save("Ada")
    #expect(try await run.value == "Ada")
  }

  @available(*, deprecated)
  @Test func `A custom step becomes a step`() async throws {
    let new = new
    let greet: @MainActor () -> Void = { new.record("hello") }

    let greeting = FlowStep<Void, Void>("greeting") { handler in
      greet()
      handler.complete()
    }
    try await greeting.result()

    OldFlowSteps.startable { [old] in old.record("hello") }
    #expect(new.elements == ["hello"])
    #expect(old.elements == ["hello"])
  }
}
