// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

private let printed = Recorder<String>()

private func print(_ text: some Any) { printed.record("\(text)") }

/// The observers of the article on observing runs.
@Suite(.timeLimit(.minutes(5)))
struct ObserverArticleTests {
  @Test func `An observer is installed for a chain, a scope and the process`() async throws {
    let load = Chain("load") { (_: Int) in }.named("the observed chain")

    struct Printer: RunObserver {
      func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
        print("\(step.run.name): \(step) \(error == nil ? "is done" : "failed")")
      }
    }

    try await load.observed(by: Printer()).run(1)
    try await withRunObserver(Printer()) { try await load.run(2) }
    let registration = RunObservers.install(Printer())

    try await load.run(3)
    registration.remove()
    try await load.run(4)
    // Tests that run meanwhile may have been observed through the process.
    #expect(printed.elements.count { $0 == "the observed chain: load is done" } == 3)
  }
}
