// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Once a job is cancelled, no further handler is called.
@Suite(.timeLimit(.minutes(5)))
struct JobCancelTests {
  // G131
  @Test @MainActor
  func `Once cancel has returned on the main actor, no handler is called`() async {
    let notes = JobNotes()
    let ended = Once<Void>()
    let job = Job("job") { (job: JobContext<Int>) in
      for number in 0..<10 { job.update(number) }
      ended.settle(())
    }.noting(notes)
    let run = job.launch(on: JobQueue(maxConcurrent: 1))
    // The main actor is held here, so that all is on its way to it when the cancel comes.
    blockUntil { ended.settled != nil }
    run.cancel()
    _ = await run.outcome
    await letMainActorCatchUp()
    #expect(notes.lines == [])
  }

  // G131
  @Test @MainActor
  func `No handler is called after cancel, even with a decided outcome`() async {
    let notes = JobNotes()
    let job = Job("job") { 7 }.onFinish { _ in notes.note("finish") }
    let run: JobRun<Never, Int> = job.launch(on: JobQueue(maxConcurrent: 1))
    let seen = Flag()
    let watcher = Task.detached {
      for await event in run.events {
        if case .stepFinished = event { seen.raise() }
      }
    }
    blockUntil { seen.isRaised }
    // The outcome is decided right after that, and the finish is on its way.
    for _ in 0..<10_000 { yieldThread() }
    #expect(!run.cancel())
    await watcher.value
    let outcome = await run.outcome
    await letMainActorCatchUp()
    #expect(notes.lines == [])
    if case .resolved(7) = outcome {} else { Issue.record("a value is never thrown away: \(outcome)") }
  }

  @Test @MainActor func `A handler that cancels is the last`() async {
    let notes = JobNotes()
    let handle = Lock<JobRun<Int, Void>?>(nil)
    let job = Job("job") { (job: JobContext<Int>) in
      for number in 0..<10 { job.update(number) }
    }
    .onUpdate { number in
      notes.note("a \(number)")
      if number == 3 { handle.withLock { $0 }?.cancel() }
    }
    .onUpdate { number in notes.note("b \(number)") }
    .onFinish { _ in notes.note("finish") }
    let run = job.launch(on: JobQueue(maxConcurrent: 1))
    handle.withLock { $0 = run }
    _ = await run.outcome
    await letMainActorCatchUp()
    #expect(notes.lines == ["a 0", "b 0", "a 1", "b 1", "a 2", "b 2", "a 3"])
  }

  @Test func `A finish handler that cancels silences later ones`() async {
    let notes = JobNotes()
    let handle = Once<JobRun<Never, Int>>()
    let job = Job("job") { () -> Int in
      _ = await handle.value()
      return 1
    }
    .onFinish { _ in
      notes.note("first")
      #expect(handle.settled?.cancel() == false)
    }
    .onFinish { _ in notes.note("second") }
    let run: JobRun<Never, Int> = job.launch(on: JobQueue(maxConcurrent: 1))
    handle.settle(run)
    _ = await run.outcome
    #expect(notes.lines == ["first"])
  }

  @Test
  func `cancel interrupts the work, and the outcome has the reason`() async {
    let begun = Once<Void>()
    let job = Job("job") {
      begun.settle(())
      guard await Once<Void>().value() != nil else { throw Fault(5) }
    }
    let run: JobRun<Never, Void> = job.launch(on: JobQueue(maxConcurrent: 1))
    await begun.valueIgnoringCancellation()
    #expect(run.cancel(reason: "left"))
    #expect(!run.cancel(reason: "again"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "left")
    #expect(cancellation.underlyingError as? Fault == Fault(5))
    await #expect(throws: CancellationError.self) { try await run.value }
  }

  @Test func `A job that waits and is cancelled never begins`() async {
    let (notes, queue) = (JobNotes(), JobQueue(maxConcurrent: 1))
    queue.suspend()
    let run: JobRun<Never, Void> = Job("job") { notes.note("work") }.launch(on: queue)
    run.cancel(reason: "early")
    #expect(await run.outcome.cancellation?.reason == "early")
    queue.resume()
    await letMainActorCatchUp()
    #expect(notes.lines == [])
  }

  @Test
  func `A token around the launch cancels the job after the body returned`() async throws {
    let (notes, token, begun) = (JobNotes(), CancellationToken(), Once<Void>())
    let job = Job("job") {
      begun.settle(())
      _ = await Once<Void>().value()
      try Task.checkCancellation()
    }.onFinish { _ in notes.note("finish") }
    let run = try await withCancellation(by: token) { () -> Run<Void> in job.launch(on: JobQueue(maxConcurrent: 1))
    }
    await begun.valueIgnoringCancellation()
    token.cancel(reason: "token")
    #expect(await run.outcome.cancellation?.reason == "token")
    await letMainActorCatchUp()
    #expect(notes.lines == [])
  }

  @Test
  func `Under a cancelled token, a job does not start`() async throws {
    let (notes, token) = (JobNotes(), CancellationToken())
    token.cancel(reason: "before")
    let job = Job("job") { notes.note("work") }.onStart { notes.note("start") }.onFinish { _ in notes.note("finish") }
    let run = try await withCancellation(by: token) { () -> Run<Void> in job.launch(on: JobQueue(maxConcurrent: 1))
    }
    #expect(await run.outcome.cancellation?.reason == "before")
    await letMainActorCatchUp()
    #expect(notes.lines == [])
  }

  @Test
  func `Under a cancelled token, not even onStart is called`() async throws {
    let (notes, token) = (JobNotes(), CancellationToken())
    token.cancel(reason: "before")
    let job = Job("job") { notes.note("work") }.onStart { notes.note("start") }
    // The more tokens there are around it, the longer a launch takes to find the one that is cancelled.
    @Sendable func launched(inside depth: Int) async throws -> Run<Void> {
      if depth == 0 { return job.launch(on: JobQueue(maxConcurrent: 1)) }
      return try await withCancellation(by: CancellationToken()) { try await launched(inside: depth - 1) }
    }
    for _ in 0..<20 {
      let run = try await withCancellation(by: token) { try await launched(inside: 200) }
      #expect(await run.outcome.cancellation?.reason == "before")
    }
    await letMainActorCatchUp()
    #expect(notes.lines == [])
  }

  @Test
  func `Cancelling a task that launched or awaits a job leaves the job`() async throws {
    let (goOn, queue) = (Once<Void>(), JobQueue(maxConcurrent: 1))
    let job = Job("job") { () -> Int in
      await goOn.valueIgnoringCancellation()
      return Task.isCancelled ? 0 : 1
    }
    let task = Task { () -> Run<Int> in
      let run: Run<Int> = job.launch(on: queue)
      withUnsafeCurrentTask { $0?.cancel() }
      await #expect(throws: CancellationError.self) { try await run.value }
      return run
    }
    let run = await task.value
    goOn.settle(())
    #expect(try await run.value == 1)
  }

  /// Blocks the thread, as code on the main actor that computes does.
  @MainActor private func blockUntil(_ isDone: () -> Bool) {
    while !isDone() { yieldThread() }
  }
}
