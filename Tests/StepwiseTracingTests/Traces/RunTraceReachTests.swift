// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import StepwiseTracing
import Testing

/// What traces reach: started runs without a request, runs in steps and handlers, failing bodies, and their limits.
@Suite(.timeLimit(.minutes(5)))
struct RunTraceReachTests {
  private let clock = ManualClock()

  /// The text without durations, which the continuous clock measures.
  private func outline(_ trace: RunTrace) -> [String] {
    trace.text.split(separator: "\n").map { line in
      if let time = line.firstRange(of: " (at ") { return String(line[..<time.lowerBound]) }
      return line.split(separator: " · ").dropLast().joined(separator: " · ")
    }
  }

  @Test func `A started run has a trace without asking for one`() async {
    let tally = Tally()
    let run = Chain("reserve", undo: { _ in }) { 1 }
      .appending(Chain("nested") { $0 })
      .then("flaky") { number -> Int in
        if tally.increment() < 2 { throw Fault(1) }
        return number
      }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
      .then("fail") { (_: Int) in throw Fault(2) }.start()
    _ = await run.outcome
    #expect(
      outline(run.trace) == [
        "reserve → fail · failed: Fault(number: 2)", "├─ reserve · undone", "├─ nested", "│  ╰─ nested",
        "├─ flaky · failed: Fault", "├─ undid reserve", "├─ attempt 1 failed: Fault", "├─ reserve · attempt 2 · undone",
        "├─ nested", "│  ╰─ nested · attempt 2", "├─ flaky · attempt 2", "├─ fail · failed: Fault(number: 2)",
        "╰─ undid reserve",
      ]
    )
  }

  @Test func `A run in flight is running and so is its step`() async {
    let turnstile = Turnstile()
    let run = Chain("wait") { await turnstile.passWhateverHappens() }.start()
    await turnstile.visitors(atLeast: 1)
    #expect(outline(run.trace) == ["wait · running", "╰─ wait · running"])
    turnstile.open()
    _ = await run.outcome
    #expect(outline(run.trace) == ["wait", "╰─ wait"])
  }

  enum Source: CaseIterable, Sendable { case handle, token, cancelRuns, scope, task, overlap }

  @Test(arguments: Source.allCases)
  func `A cancelled run shows its origin and reason`(source: Source) async throws {
    let turnstile = Turnstile()
    var chain = Chain("wait") { try await turnstile.pass() }
    if source == .overlap { chain = chain.overlap(.cancelPrevious) }
    let token = CancellationToken()
    let run = try await withCancellation(by: token) { [chain] in chain.start() }
    await turnstile.visitors(atLeast: 1)
    let expected: String
    switch source {
    case .handle:
      run.cancel(reason: "left the screen")
      expected = "its handle: left the screen"
    case .token:
      chain.cancellationToken.cancel(reason: "closed")
      expected = "the chain's token: closed"
    case .cancelRuns:
      chain.cancelRuns(reason: "signed out")
      expected = "cancelRuns: signed out"
    case .scope:
      token.cancel(reason: "shut down")
      expected = "a token around it: shut down"
    case .task:
      run.cancel()
      let (other, entered) = (chain, turnstile)
      let task = Task { await trace { try await other.run() } }
      await entered.visitors(atLeast: 2)
      task.cancel()
      #expect(await task.value.trace.runs.first?.detail == "its task")
      expected = "its handle"
    case .overlap:
      let next = chain.start()
      await turnstile.visitors(atLeast: 2)
      next.cancel()
      expected = "overlap policy: cancelPrevious"
    }
    _ = await run.outcome
    #expect(run.trace.runs.first?.status == .cancelled)
    #expect(run.trace.runs.first?.detail == expected)
    #expect(run.trace.runs.first?.children.first?.status == .cancelled)
  }

  @Test
  func `A cancelled branch names the kind of branch that decided`() async throws {
    let turnstile = Turnstile()
    let slow = Chain("slow") { try await turnstile.pass() }
    let fast = Chain("fast") { await turnstile.visitors(atLeast: 1) }
    let race = await trace { try await Chain.race(slow, fast).run() }.trace.runs[0]
    #expect(race.children.first { $0.name == "slow" }?.detail == "a faster branch")
    let failing = Chain("failing") { () async throws -> Void in
      await turnstile.visitors(atLeast: 2)
      throw Fault(1)
    }
    let zip = await trace { try await Chain<Void, (Void, Void)>.zip(slow, failing).run() }.trace.runs[0]
    #expect(zip.children.first { $0.name == "slow" }?.detail == "a failed branch")
    #expect(zip.status == .failed)
  }

  @Test func `A failing body has a trace, too`() async throws {
    let traced = await trace(clock: clock) { try await Chain("fail") { throw Fault(1) }.run() }
    #expect(throws: Fault(1)) { try traced.value }
    #expect(traced.trace.runs.map(\.status) == [.failed])
    let value = await trace { 7 }
    #expect(try value.value == 7)
    #expect(value.trace.text == "")
  }

  @Test
  func `The description of a result names its type and never its value`() async {
    let traced = await trace(clock: clock) { try await Chain("load") { "secret" }.named("page").run() }
    #expect("\(traced)" == "succeeded with String\npage · 0 ns\n╰─ load · 0 ns\n")
    #expect(String(reflecting: traced) == "succeeded with \"secret\"\npage · 0 ns\n╰─ load · 0 ns\n")
    let failed = await trace(clock: clock) { try await Chain("fail") { throw Fault(1) }.run() }
    #expect("\(failed)".hasPrefix("failed: Fault(number: 1)\n"))
  }

  @Test func `Runs are traced in the step or handler that starts them`() async {
    let inner = Chain("look up") {}
    let clock = clock
    let pass = { @Sendable in clock.advance(by: .seconds(1)) }
    let chain = Chain("first") {
      pass()
      try await inner.run()
      pass()
    }
    .then("second") {
      pass()
      _ = await inner.start().outcome
      pass()
    }
    .finally { _ in
      pass()
      try? await inner.run()
    }
    let traced = await trace(clock: clock) { try await chain.run() }
    #expect(
      outline(traced.trace) == [
        "first → second", "├─ first", "│  ╰─ look up", "│     ╰─ look up", "├─ second", "│  ╰─ look up",
        "│     ╰─ look up", "╰─ look up", "   ╰─ look up",
      ]
    )
  }

  @Test func `Runs of concurrent tasks are separate`() async {
    let chain = Chain("work") { (number: Int) in number }
    let traced = await trace {
      await withTaskGroup { group in
        for number in 0..<20 { group.addTask { _ = try? await chain.run(number) } }
      }
    }
    #expect(traced.trace.runs.count == 20)
    #expect(traced.trace.runs.allSatisfy { $0.children.count == 1 && $0.status == .succeeded })
  }

  @Test func `A full trace keeps the newest events and counts the others`() async {
    var chain = Chain("step 0") { (number: Int) in number }
    for number in 1..<10 { chain = chain.then("step \(number)") { $0 } }
    let traced = await trace(capacity: 6, clock: clock) { [chain] in try await chain.run(1) }
    // The run and its 10 steps.
    #expect(traced.trace.droppedEventCount == 11 - 6)
    #expect(traced.trace.runs[0].children.map(\.name) == ["step 5", "step 6", "step 7", "step 8", "step 9"])
    #expect(traced.trace.text.hasSuffix("(5 earlier events were dropped)\n"))
    #expect(traced.trace.svg.contains("5 earlier events were dropped"))
    #expect(traced.trace.runs[0].status == .succeeded)
  }

  @Test func `The trace of deeply nested chains is short`() async {
    let depth = scaled(20_000)
    var chain = Chain("a") { (number: Int) in number }
    for _ in 0..<depth { chain = Chain("b") { (number: Int) in number }.appending(chain) }
    let traced = await trace(capacity: 10 * depth, clock: clock) { [chain] in try await chain.run(1) }
    let text = traced.trace.text
    #expect(text.utf8.count { $0 == UInt8(ascii: "\n") } == 2 * (depth + 1))
    #expect(text.utf8.count < 1_000 * depth)
    #expect(traced.trace.svg.contains("more rows"))
    #expect(traced.trace.chromeTrace.utf8.count < 1_000 * depth)
  }

  @Test func `A trace retains the newest runs and counts the others`() async {
    let chain = Chain("work") {}
    let traced = await trace { for _ in 0..<300 { try await chain.run() } }
    #expect(traced.trace.runs.count == 256)
    #expect(traced.trace.droppedRunCount == 44)
  }

  @Test func `The trace of a started run is bounded`() async {
    let failing = Step("again") { (_: Int) -> Int in throw Fault(1) }
      .retry(RetryPolicy(maxAttempts: 3_000, backoff: .none))
    let chain = Chain("work") { (number: Int) in number }.appending(failing).recover { _ in 1 }
    let run = chain.start(1)
    _ = await run.outcome
    #expect(run.trace.droppedEventCount > 1_000)
    #expect(run.trace.runs[0].status == .succeeded)
  }
}
