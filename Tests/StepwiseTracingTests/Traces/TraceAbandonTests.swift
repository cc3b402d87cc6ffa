// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import StepwiseTracing
import Synchronization
import Testing

/// What a trace says of abandoned steps, and what it retains.
@Suite(.timeLimit(.minutes(5)))
struct TraceAbandonTests {
  private let clock = ManualClock()

  @Test func `A step that fails in time is not abandoned`() async {
    let chain = Chain("pay") { (_: Int) -> Int in throw Fault(1) }.abandon(after: .seconds(10), clock: clock)
    let text = await trace(clock: clock) { try await chain.run(1) }.trace.text
    #expect(text.contains("pay · failed: Fault(number: 1)"))
    #expect(!text.contains("abandoned"))
  }

  @Test func `An attempt after an abandoned one is beside it`() async throws {
    let (gate, tally) = (Turnstile(), Tally())
    let inner = Chain("wait") { (number: Int) in
      if tally.increment() == 1 { await gate.passWhateverHappens() }
      return number
    }
    .named("inner")
    let chain = Chain("first") { (number: Int) in number }.appending(inner).abandon(after: .seconds(2), clock: clock)
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    async let traced = trace(clock: clock) { try await chain.run(7) }
    await gate.visitors(atLeast: 1)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(2))
    let result = await traced
    gate.open()
    #expect(try result.value == 7)
    let runs = try #require(result.trace.runs.first).children.filter { $0.kind == .run }
    #expect(runs.map(\.name) == ["inner", "inner"])
    #expect(runs.map(\.status) == [.abandoned, .succeeded])
    #expect(runs.first?.duration == .seconds(2))
  }

  private final class Problem: Error {}

  @Test func `Nothing is retained after a trace`() async {
    let thrown = Mutex(Weak())
    do {
      let traced = await trace {
        _ = try await Chain { (_: Int) -> Int in
          let problem = Problem()
          thrown.withLock { $0 = Weak(problem: problem) }
          throw problem
        }
        .run(1)
      }
      #expect(traced.trace.runs.count == 1)
    }
    #expect(thrown.withLock { $0.problem == nil })
  }

  private struct Weak: Sendable {
    weak let problem: Problem?

    init(problem: Problem? = nil) {
      self.problem = problem
    }
  }

  @Test func `The outermost run is retained when there are too many`() async throws {
    let small = Chain("small") { (number: Int) in number }
    let large = Chain("large") { (number: Int) in
      for number in 0..<300 { _ = try await small.run(number) }
      return number
    }
    let traced = await trace { try await large.run(1) }
    #expect(traced.trace.runs.map(\.name) == ["large"])
    #expect(traced.trace.droppedRunCount == 301 - 256)
  }
}
