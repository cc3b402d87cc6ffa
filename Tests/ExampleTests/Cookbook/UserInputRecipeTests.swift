// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// The recipes of the cookbook for what a user types and taps.
@Suite(.timeLimit(.minutes(5)))
struct UserInputRecipeTests {
  let clock = ManualClock()
  let log = Recorder<String>()

  @Test
  func `A debounced search runs once, for the last text`() async throws {
    let (clock, log) = (clock, log)
    @Sendable func find(_ text: String) async throws -> [String] {
      log.record(text)
      return [text + "!"]
    }

    let search = Chain("wait") { (text: String) in
      try await clock.sleep(for: .milliseconds(300))
      return text
    }
    .then("search") { text in try await find(text) }
    .overlap(.cancelPrevious)

    let runs = ["s", "sw", "swift"].map { text in search.start(text) }
    for run in runs.dropLast() { await #expect(throws: CancellationError.self) { try await run.value } }
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .milliseconds(300))
    #expect(try await runs[2].value == ["swift!"])
    #expect(log.elements == ["swift"])
  }

  struct Order: Sendable, Equatable {
    var size: String
    var drink: String
  }

  @MainActor
  private func run(_ flow: Flow<Order>, savingTo file: URL) async throws -> Order {
    let saved = flow.saving { log in try JSONEncoder().encode(log).write(to: file, options: .atomic) }
    let log = try? JSONDecoder().decode(FlowLog.self, from: Data(contentsOf: file))
    let order = try await saved.replay(answers: log ?? [])
    try FileManager.default.removeItem(at: file)
    return order
  }

  @Test
  @MainActor func `A flow that was killed resumes after the last answer`() async throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).json")
    let asked = Recorder<(String, FlowStepHandler<String, String>)>()
    let size = FlowStep<String, String>("size") { handler in asked.record(("size", handler)) }
    let drink = FlowStep<String, String>("drink") { handler in asked.record(("drink", handler)) }
    let flow = Flow<Order>("order", first: size, content: "")
      .on(size) { size, _ in .next(drink, size) }
      .on(drink) { text, step in .finish(Order(size: step.content, drink: text)) }
    let killed = Task { try await run(flow, savingTo: file) }
    await asked.elements(atLeast: 1).last?.1.complete("large")
    await asked.elements(atLeast: 2)
    killed.cancel()
    _ = await killed.result
    let resumed = Task { try await run(flow, savingTo: file) }
    await asked.elements(atLeast: 3).last?.1.complete("tea")
    #expect(asked.elements.map(\.0) == ["size", "drink", "drink"])
    #expect(try await resumed.value == Order(size: "large", drink: "tea"))
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test
  @MainActor func `The model of a view shows the hits of the newest search`() async {
    let model = SearchModel(Chain { (text: String) in ["\(text) 1", "\(text) 2"] })
    model.search(for: "s")
    model.search(for: "swift")
    while model.hits.first?.hasPrefix("swift") != true { await Task.yield() }
    #expect(model.hits == ["swift 1", "swift 2"])
    let failing = SearchModel(Chain { (_: String) in throw Failure("offline") })
    failing.search(for: "swift")
    while failing.message == nil { await Task.yield() }
    #expect(failing.message == "offline")
  }

  @Test
  @MainActor func `An answer that arrives while the main actor is busy is not shown for a newer text`() async {
    let (begun, oldMayEnd, newMayEnd) = (Once<Void>(), Once<Void>(), Once<Void>())
    let chain = Chain { (text: String) in
      begun.settle(())
      await (text == "old" ? oldMayEnd : newMayEnd).valueIgnoringCancellation()
      return [text]
    }
    let model = SearchModel(chain)
    model.search(for: "old")
    await begun.valueIgnoringCancellation()
    oldMayEnd.settle(())
    // The old search ends, but the main actor is busy.
    while chain.runsInFlight > 0 {}
    model.search(for: "new")
    for _ in 0..<100 {
      await Task.yield()
      #expect(model.hits.isEmpty)
    }
    newMayEnd.settle(())
    while model.hits.isEmpty { await Task.yield() }
    #expect(model.hits == ["new"])
  }

  @Test
  @MainActor func `The search of a model that is released is cancelled`() async {
    let cancelled = Once<Void>()
    let begun = Once<Void>()
    var model: SearchModel? = SearchModel(
      Chain { (_: String) -> [String] in
        begun.settle(())
        await CancellationToken().waitForCancellation()
        cancelled.settle(())
        throw CancellationError()
      }
    )
    model?.search(for: "swift")
    await begun.valueIgnoringCancellation()
    model = nil
    await cancelled.valueIgnoringCancellation()
  }
}
