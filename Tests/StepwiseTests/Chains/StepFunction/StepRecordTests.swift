// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What events, progress and observers read of steps.
@Suite(.timeLimit(.minutes(5)))
struct StepRecordTests {
  private let twice = RetryPolicy(maxAttempts: 2, backoff: .none)

  // G46
  @Test func `A step has its own events`() async throws {
    let chain = Chain("plan") { () in
      var attempt = 0
      try await step("outer") {
        try await step("inner", retry: twice) {
          attempt += 1
          if attempt == 1 { throw Fault() }
        }
      } undo: {
      }
      throw Fault(1)
    }
    let run = chain.start()
    _ = await run.outcome
    #expect(
      await briefEvents(of: run) == [
        "started", "begin plan", "end plan \(Fault(1))", "begin outer", "undone outer", "begin inner", "end inner",
        "failed \(Fault(1))",
      ]
    )
    #expect(run.failedStep?.name == "plan")
  }

  // G46
  @Test func `Progress within a step is its own`() async throws {
    let gate = Turnstile()
    let chain = Chain("plan") { () in
      StepProgress.report(0.25)
      try await step("inner") {
        StepProgress.report(0.75)
        try await gate.pass()
      }
    }
    .then("last") {}
    let run = chain.start()
    await gate.visitors(atLeast: 1)
    var progress = run.progress.makeAsyncIterator()
    #expect(try await progress.next()?.fractionCompleted == 0.125)
    var events = run.events.makeAsyncIterator()
    var lines: [String] = []
    while lines.count < 5, let event = try await events.next() { lines.append(event.line) }
    #expect(lines == ["started", "plan started", "plan at 0.25", "inner started", "inner at 0.75"])
    gate.open()
    try await run.value
  }

  // G46
  @Test func `Observers are notified of steps`() async throws {
    struct Observer: RunObserver {
      let log: Recorder<String>

      func stepStarted(_ step: ObservedStep) { log.record("started \(step.step)") }
      func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
        log.record("finished \(step.step)" + (error.map { " \($0)" } ?? ""))
      }
      func attemptFailed(_ step: ObservedStep, attempt: Int, error: any Error) {
        log.record("failed \(step.step) \(attempt)")
      }
    }
    let log = Recorder<String>()
    let chain = Chain("plan") { () in
      try? await step("a", retry: twice) { throw Fault() }
      try await step("b", timeout: .seconds(60)) {}
    }
    .observed(by: Observer(log: log))
    try await chain.run()
    #expect(
      log.elements == [
        "started plan", "started a", "failed a 1", "finished a \(Fault())", "started b", "finished b", "finished plan",
      ]
    )
  }

  // G46
  @Test func `The record of many steps is bounded`() async throws {
    let count = scaled(100_000)
    let chain = Chain { (count: Int) in
      for number in 0..<count { try await step("step \(number)") { StepProgress.report(0.5) } }
    }
    let run = chain.start(count)
    try await run.value
    #expect(await briefEvents(of: run).count < 5_000)
  }
}
