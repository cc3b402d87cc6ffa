// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// The recipes of the cookbook for what a user types and taps.
@Suite(.timeLimit(.minutes(5)))
struct UserInputRecipeTests {
  let clock = ManualClock()
  let log = Recorder<String>()

  @Test("A debounced search runs once, for the last text")
  func debounce() async throws {
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

  @Test("Of the drafts that come while one is saved, the newest is saved")
  func keepLatest() async throws {
    let (log, open) = (log, CancellationToken())
    @Sendable func write(_ draft: String) async throws {
      log.record(draft)
      await open.cancellation
    }

    let save = Chain("save") { (draft: String) in try await write(draft) }
      .overlap(.keepLatest)

    let runs = ["a", "b", "c"].map { draft in save.start(draft) }
    await log.elements(atLeast: 1)
    open.cancel()
    try await runs[2].value
    #expect(log.elements == ["a", "c"])
  }

  @Test("A second tap is refused while the first order is in flight")
  func doubleTap() async throws {
    let (log, open) = (log, CancellationToken())
    @Sendable func place(_ order: Int) async throws -> String {
      log.record("order \(order)")
      await open.cancellation
      return "receipt \(order)"
    }

    let buy = Chain("buy") { (order: Int) in try await place(order) }
      .overlap(.dropNew)

    let first = buy.start(7)
    await log.elements(atLeast: 1)
    await #expect(throws: CancellationError.self) { try await buy.run(7) }
    open.cancel()
    #expect(try await first.value == "receipt 7")
    #expect(log.elements == ["order 7"])
  }

  @Test("The model of a view shows the hits of the newest search")
  @MainActor func viewModel() async {
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

  @Test("A coordinator shows its first screen, and stops")
  @MainActor func coordinator() async {
    let controller = UINavigationController(nibName: nil, bundle: nil)
    let coordinator = NameCoordinator(controller) { _ in }
    coordinator.start()
    while controller.viewControllers.isEmpty { await Task.yield() }
    coordinator.stop()
    while !controller.viewControllers.isEmpty { await Task.yield() }
    let names = Recorder<String>()
    let other = NameCoordinator(controller) { name in names.record(name) }
    other.start()
    while controller.viewControllers.isEmpty { await Task.yield() }
    (controller.viewControllers.first as? NameViewController)?.save("Ada")
    #expect(await names.elements(atLeast: 1) == ["Ada"])
  }
}
