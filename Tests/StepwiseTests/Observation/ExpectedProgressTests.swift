// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The progress of code with `step` that says how many steps it expects.
@Suite(.timeLimit(.minutes(5)))
struct ExpectedProgressTests {
  private static let pause: @Sendable () async -> Void = { for _ in 0..<20 { await Task.yield() } }

  /// A step that lets those who observe the run go first, so that no progress is superseded.
  private static func pausing(_ name: String, _ body: () async throws -> Void = {}) async throws {
    try await step(name) {
      await pause()
      try await body()
    }
    await pause()
  }

  /// What a progress bar shows from the first step inside on, without repetitions.
  private func lines(_ chain: Chain<Void, Void>) throws -> [String] {
    try SeededExecutor(seed: 1).run {
      let run = chain.start()
      var lines: [String] = []
      for await progress in run.progress {
        let line = "\(progress.step) \(Int((progress.fractionCompleted * 100).rounded()))"
        if line != "import 0", lines.last != line { lines.append(line) }
      }
      return lines
    }
  }

  // G172, G173
  @Test func `Each step of a closure advances the progress and names it`() throws {
    let chain = Chain("import") { () in
      StepProgress.expect(steps: 3)
      await Self.pause()
      for name in ["a", "b", "c"] { try await Self.pausing(name) }
    }
    .then("index") { await Self.pause() }
    #expect(
      try lines(chain) == [
        "a 0", "a 17", "b 17", "b 33", "c 33", "c 50", "index 50", "index 100",
      ]
    )
  }

  // G172
  @Test func `A step that reports advances within its share`() throws {
    let chain = Chain("import") { () in
      StepProgress.expect(steps: 2)
      try await Self.pausing("a") {
        for fraction in [0.5, 0.25, .nan, 1] {
          StepProgress.report(fraction)
          await Self.pause()
        }
      }
      try await Self.pausing("b") {
        StepProgress.expect(steps: 2)
        try await Self.pausing("b1")
        try await Self.pausing("b2")
      }
    }
    let lines = try lines(chain)
    #expect(lines == ["a 0", "a 25", "a 50", "b 50", "b1 50", "b1 75", "b2 75", "b2 100"], "\(lines)")
  }

  // G172
  @Test func `More steps than expected and failed ones never move the progress back`() throws {
    let chain = Chain("import") { () in
      StepProgress.expect(steps: 2)
      try? await Self.pausing("a") { throw Fault() }
      await Self.pause()
      try await Self.pausing("b")
      try await Self.pausing("c")
      StepProgress.expect(steps: 10)
      try await Self.pausing("d")
    }
    .then("last") { await Self.pause() }
    let lines = try lines(chain)
    #expect(lines == ["a 0", "a 25", "b 25", "b 50", "c 50", "d 50", "last 50", "last 100"], "\(lines)")
  }

  // G172
  @Test func `Steps in an element advance the share of the element`() throws {
    let chain = Chain("list") { [1, 2] }
      .thenMap("each", maxConcurrent: 1) { number in
        StepProgress.expect(steps: 2)
        try await Self.pausing("a\(number)") {
          StepProgress.expect(steps: 2)
          try await Self.pausing("inner")
        }
        try await Self.pausing("b\(number)")
      }
      .then { _ in }
    let lines = try lines(chain)
    // A third for each of three steps; a half of that for each element, of which the inner step is an eighth.
    for fraction in ["inner 38", "a1 42", "b1 50", "inner 54", "a2 58", "b2 67"] where !fraction.hasPrefix("a") {
      #expect(lines.contains(fraction), "\(lines)")
    }
    #expect(lines.contains { $0.hasSuffix(" 42") } && lines.contains { $0.hasSuffix(" 58") }, "\(lines)")
  }

  // G173
  @Test func `The last progress has the name of the last step`() async throws {
    let run = Chain("outer") { () in
      try await step("first") {}
      try await step("last") { try await step("innermost") {} }
    }
    .start()
    try await run.value
    var last: ChainProgress?
    for await progress in run.progress { last = progress }
    #expect(last?.step == "innermost")
    #expect(last?.fractionCompleted == 1)
  }

  @Test func `Outside of a run, and in a plain run, an expectation has no effect`() async throws {
    StepProgress.expect(steps: 3)
    let value = try await Chain {
      StepProgress.expect(steps: -1)
      return try await step("a") { 1 }
    }.run()
    #expect(value == 1)
  }
}
