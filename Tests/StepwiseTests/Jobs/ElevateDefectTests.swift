// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// What was wrong with Elevate, and is not wrong here.
@Suite(.timeLimit(.minutes(5)))
struct ElevateDefectTests {
  @Test func `A timeout does not count the wait in the queue`() async throws {
    let (clock, queue, goOn) = (ManualClock(), JobQueue(maxConcurrent: 1), Once<Void>())
    let slow: Run<Void> = Job("slow") { await goOn.valueIgnoringCancellation() }.launch(on: queue)
    let quick: Run<Int> = Job("quick") { 1 }.timeout(.seconds(1), clock: clock).launch(on: queue)
    clock.advance(by: .seconds(100))
    #expect(clock.sleeperCount == 0)
    goOn.settle(())
    try await slow.value
    #expect(try await quick.value == 1)
  }

  @Test func `A slow job does not delay jobs on other queues`() async throws {
    let goOn = Once<Void>()
    let slow: Run<Void> = Job("slow") { await goOn.valueIgnoringCancellation() }.launch(on: JobQueue(maxConcurrent: 1))
    #expect(try await Job("other") { 1 }.launch(on: JobQueue(maxConcurrent: 1)).value == 1)
    #expect(try await Job("shared") { 2 }.launch().value == 2)
    #expect(!slow.isFinished)
    goOn.settle(())
    try await slow.value
  }

  @Test func `A cancel is seen by work that does no input or output`() async {
    let begun = Flag()
    let computing: Run<Int> = Job("computes") { () -> Int in
      begun.raise()
      var rounds = 0
      while true {
        try Task.checkCancellation()
        rounds += 1
        await Task.yield()
      }
    }.launch(on: JobQueue(maxConcurrent: 1))
    while !begun.isRaised { await Task.yield() }
    computing.cancel(reason: "enough")
    #expect(await computing.outcome.cancellation?.reason == "enough")
  }

  @Test func `A timeout is seen by work that does no input or output`() async {
    let (clock, notes) = (ManualClock(), JobNotes())
    let run: Run<Int> = Job("computes") { () -> Int in
      while true {
        try Task.checkCancellation()
        await Task.yield()
      }
    }
    .timeout(.seconds(1), clock: clock).onTimeout { notes.note("timeout") }
    .launch(on: JobQueue(maxConcurrent: 1))
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    _ = await run.outcome
    #expect(notes.lines == ["timeout"])
  }
}
