// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct JobUpdatesTests {
  private let queue = JobQueue(maxConcurrent: 1)

  // G134
  @Test func `Every consumer sees the updates and the end`() async throws {
    let (goOn, seen) = (Once<Void>(), Recorder<Int>())
    let run = Job("job") { (job: JobContext<Int>) in
      job.update(1)
      await goOn.valueIgnoringCancellation()
      job.update(2)
    }.launch(on: queue)
    let consumers = (0..<3).map { _ in
      Task {
        var updates: [Int] = []
        for await update in run.updates {
          updates.append(update)
          seen.record(update)
        }
        return updates
      }
    }
    await seen.elements(atLeast: 3)
    goOn.settle(())
    for consumer in consumers { #expect(await consumer.value == [1, 2]) }
  }

  // G134
  @Test func `A late consumer receives the latest update and the end`() async throws {
    let run = Job("job") { (job: JobContext<Int>) in
      for number in 0..<100 { job.update(number) }
    }.launch(on: queue)
    try await run.value
    for _ in 0..<2 {
      var updates: [Int] = []
      for await update in run.updates { updates.append(update) }
      #expect(updates == [99])
    }
  }

  @Test func `Without updates a consumer receives the end`() async throws {
    let run: JobRun<Never, Int> = Job("job") { 1 }.launch(on: queue)
    for await _ in run.updates {}
    _ = try await run.value
    queue.suspend()
    let waiting: JobRun<Never, Int> = Job("job") { 1 }.launch(on: queue)
    waiting.cancel()
    for await _ in waiting.updates {}
  }

  @Test func `Iterating ends with the task that iterates`() async throws {
    let (goOn, queue) = (Once<Void>(), queue)
    let run = Job("job") { (_: JobContext<Int>) in await goOn.valueIgnoringCancellation() }.launch(on: queue)
    let consumer = Task { for await _ in run.updates {} }
    consumer.cancel()
    await consumer.value
    #expect(!run.isFinished)
    goOn.settle(())
    try await run.value
  }

  /// A flood of updates without handlers on the main actor stores only the latest.
  @Test func `A flood of updates keeps only the latest`() async throws {
    let tracker = LifetimeTracker()
    let (looked, goOn) = (Once<Void>(), Once<Void>())
    let job = Job("job") { (job: JobContext<LifetimeTracker.Tracked>) in
      _ = await looked.value()
      for _ in 0..<10_000 { job.update(tracker.track()) }
      await goOn.valueIgnoringCancellation()
      return tracker.alive
    }
    let run = job.launch(on: queue)
    let consumer = run.updates.makeAsyncIterator()
    looked.settle(())
    goOn.settle(())
    #expect(try await run.value == 1)
    _ = consumer
  }

  @Test func `A job has the progress and events of a run`() async throws {
    let run: JobRun<Never, Int> = Job("job") {
      StepProgress.report(0.5)
      return 1
    }.launch(on: queue)
    var names: [String] = []
    for await event in run.events {
      if case .stepStarted(let step) = event { names.append(step.description) }
    }
    #expect(names == ["job"])
    for await progress in run.progress { #expect(progress.fractionCompleted == 1) }
    #expect(run.undoErrors.isEmpty)
  }
}
