// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct JobOrderTests {
  @Test @MainActor
  func `onStart is called after launch returns, before other handlers`() async {
    let notes = JobNotes()
    let job = Job("job") { (job: JobContext<Int>) in job.update(1) }.noting(notes)
    let run = job.launch(on: JobQueue(maxConcurrent: 1))
    notes.note("launched")
    _ = await run.outcome
    #expect(notes.lines == ["launched", "start", "update 1", "finish ()"])
  }

  @Test func `The start handler is called while the job waits in its queue`() async throws {
    let (notes, queue) = (JobNotes(), JobQueue(maxConcurrent: 1))
    queue.suspend()
    let run = Job("waits") { 1 }.noting(notes).launch(on: queue)
    await notes.recorder.wait(for: "start")
    #expect(!run.isFinished)
    queue.resume()
    _ = try await run.value
    #expect(notes.lines == ["start", "finish 1"])
  }

  @Test func `Every update is delivered in order and before the end`() async throws {
    let notes = JobNotes()
    let job = Job("job") { (job: JobContext<Int>) in
      for number in 0..<1_000 { job.update(number) }
      throw Fault(1)
    }.noting(notes)
    _ = await job.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["start"] + (0..<1_000).map { "update \($0)" } + ["fault 1", "finish Fault"])
  }

  @Test func `No update is delivered after the finish`() async throws {
    let (notes, leaked) = (JobNotes(), Recorder<JobContext<Int>>())
    let job = Job("leaks its context") { (job: JobContext<Int>) in leaked.record(job) }.noting(notes)
    let run = job.launch(on: JobQueue(maxConcurrent: 1))
    _ = await run.outcome
    leaked.elements.first?.update(1)
    await letMainActorCatchUp()
    #expect(notes.lines == ["start", "finish ()"])
    for await _ in run.updates { Issue.record("an update after the end") }
  }

  @Test
  func `Handlers of one kind are called in the order of attachment`() async {
    let notes = JobNotes()
    let job = Job("job") { (job: JobContext<Int>) in job.update(1) }
      .onFinish { _ in notes.note("finish a") }.onUpdate { _ in notes.note("update a") }
      .onStart { notes.note("start a") }.onFinish { _ in notes.note("finish b") }
      .onStart { notes.note("start b") }.onUpdate { _ in notes.note("update b") }
    _ = await job.launch(on: JobQueue(maxConcurrent: 1)).outcome
    #expect(notes.lines == ["start a", "start b", "update a", "update b", "finish a", "finish b"])
  }

  @Test func `The run completes after the last handler`() async throws {
    let notes = JobNotes()
    let job = Job("job") { 1 }.onFinish { _ in notes.note("finish") }
    for _ in 0..<100 {
      _ = try await job.launch(on: JobQueue(maxConcurrent: 1)).value
      notes.recorder.record("awaited")
    }
    #expect(notes.lines == (0..<100).flatMap { _ in ["finish", "awaited"] })
  }

  @Test
  func `A job holds its slot in the queue until its last handler has returned`() async throws {
    let (notes, queue) = (JobNotes(), JobQueue(maxConcurrent: 1))
    let job = Job("job") { (number: Int) in notes.recorder.record("work \(number)") }
      .onFinish { _ in notes.note("finish") }
    let runs = (0..<20).map { job.launch($0, on: queue) }
    for run in runs { _ = await run.outcome }
    #expect(notes.lines == (0..<20).flatMap { ["work \($0)", "finish"] })
  }

  @Test func `The work runs off the main actor`() async throws {
    let job = Job("job") { isOnMainActor() }
    #expect(try await launchedOnMainActor(job).value == false)
  }

  @MainActor private func launchedOnMainActor(_ job: Job<Void, Never, Bool>) -> Run<Bool> {
    job.launch(on: JobQueue(maxConcurrent: 1))
  }

  @Test @MainActor func `Handlers may retain values that are not Sendable`() async throws {
    let lineLog = LineLog()
    let job = Job("job") { 1 }.onFinish { _ in lineLog.write("finish") }
    _ = try await job.launch(on: JobQueue(maxConcurrent: 1)).value
    #expect(lineLog.lines == ["finish"])
  }

  @Test func `A handler may launch and cancel jobs`() async throws {
    let (notes, queue, ended) = (JobNotes(), JobQueue(maxConcurrent: 1), Once<Void>())
    let second = Job("second") { 2 }.onFinish { _ in
      notes.note("second")
      ended.settle(())
    }
    let first = Job("first") { 1 }.onFinish { _ in
      notes.note("first")
      second.launch(on: queue)
    }
    first.launch(on: queue)
    await ended.valueIgnoringCancellation()
    #expect(notes.lines == ["first", "second"])
  }

  enum Handler: CaseIterable {
    case start, update
  }

  @Test(arguments: Handler.allCases, [false, true])
  func `The run ends when the last handler has returned`(handler: Handler, isCancelled: Bool) async throws {
    let (begun, handle, finished) = (Once<Void>(), Once<JobRun<Int, Void>>(), Flag())
    let calling: @MainActor @Sendable () -> Void = {
      begun.settle(())
      for _ in 0..<20_000 where handle.settled?.isFinished != true { yieldThread() }
      if handle.settled?.isFinished == true { finished.raise() }
    }
    var job = Job("job") { (job: JobContext<Int>) in
      if handler == .update { job.update(1) }
      await begun.valueIgnoringCancellation()
    }
    job = handler == .start ? job.onStart(calling) : job.onUpdate { _ in calling() }
    let queue = JobQueue(maxConcurrent: 1)
    let run = job.launch(on: queue)
    handle.settle(run)
    let other: Run<Void> = Job("next") {}.launch(on: queue)
    await begun.valueIgnoringCancellation()
    if isCancelled { run.cancel() }
    _ = await run.outcome
    try await other.value
    await letMainActorCatchUp()
    #expect(!finished.isRaised, "a handler was still being called")
  }
}
