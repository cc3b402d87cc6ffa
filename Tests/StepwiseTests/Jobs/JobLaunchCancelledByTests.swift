// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct JobLaunchCancelledByTests {
  private let queue = JobQueue(maxConcurrent: 2)
  private let notes = JobNotes()
  private let began = Recorder<Int>()

  // G80
  @Test
  func `A token cancels exactly the jobs that were launched with it`() async throws {
    let token = CancellationToken()
    let job = Job("job") { (number: Int, _: JobContext<String>) in
      began.record(number)
      _ = await Once<Void>().value()
      try Task.checkCancellation()
      return number
    }
    let first: Run<Int> = job.noting(notes).launch(1, on: queue, cancelledBy: token)
    let second: JobRun<String, Int> = job.launch(2, on: queue, cancelledBy: token)
    await began.elements(atLeast: 2)
    let queued: Run<Int> = job.launch(3, on: queue, cancelledBy: token)
    let other: Run<Int> = Job("other") { 4 }.launch(on: queue)
    await notes.recorder.elements(atLeast: 1)
    token.cancel(reason: "left")
    for outcome in [await first.outcome, await second.outcome, await queued.outcome] {
      #expect(outcome.cancellation?.reason == "left")
    }
    #expect(try await other.value == 4)
    #expect(began.elements.sorted() == [1, 2], "what waited never began")
    await letMainActorCatchUp()
    #expect(notes.lines == ["start"])
  }

  @Test
  func `A job launched with a cancelled token calls no handler`() async {
    let token = CancellationToken()
    token.cancel(reason: "before")
    let job = Job("job") { (_: JobContext<String>) in began.record(1) }.noting(notes)
    let run: Run<Void> = job.launch(on: queue, cancelledBy: token)
    #expect(await run.outcome.cancellation?.reason == "before")
    await letMainActorCatchUp()
    #expect(notes.lines == [])
    #expect(began.elements == [])
  }

  @Test
  func `A job that has ended leaves nothing at the token`() async throws {
    let token = CancellationToken()
    let run: Run<Int> = Job("job") { 1 }.launch(on: queue, cancelledBy: token)
    #expect(try await run.value == 1)
    _ = await run.outcome
    #expect(token.handlerCount == 0)
  }
}
