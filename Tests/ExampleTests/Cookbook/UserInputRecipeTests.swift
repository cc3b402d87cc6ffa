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
}
