// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct JobLifetimeTests {
  private let tracker = LifetimeTracker()
  private let queue = JobQueue(maxConcurrent: 1)

  @Test(arguments: [false, true])
  func `The handle of a finished job retains nothing`(isCancelled: Bool) async {
    let run: JobRun<Int, Int>
    do {
      run = Job("job") { [held = tracker.track()] (input: LifetimeTracker.Tracked, job: JobContext<Int>) -> Int in
        job.update(1)
        _ = (held, input)
        return 1
      }
      .onStart { [held = tracker.track()] in _ = held }
      .onUpdate { [held = tracker.track()] _ in _ = held }
      .onError { [held = tracker.track()] _ in _ = held }
      .onFinish { [held = tracker.track()] _ in _ = held }
      .launch(tracker.track(), on: queue)
      if isCancelled { run.cancel() }
    }
    _ = await run.outcome
    await tracker.allReleased()
    #expect(tracker.made == 6)
    #expect(run.isFinished)
  }

  @Test func `A context that outlives its job retains no handler`() async throws {
    let leaked = Recorder<JobContext<Int>>()
    do {
      let job = Job("job") { (job: JobContext<Int>) in leaked.record(job) }
        .onUpdate { [held = tracker.track()] _ in _ = held }
      try await job.launch(on: queue).value
    }
    await tracker.allReleased()
    leaked.elements.first?.update(1)
  }

  @Test func `Releasing the handle cancels nothing`() async {
    let ended = Once<Int>()
    do {
      Job("job") { 1 }.onFinish { outcome in ended.settle((try? outcome.get()) ?? 0) }.launch(on: queue)
    }
    #expect(await ended.valueIgnoringCancellation() == 1)
  }

  @Test func `A released queue runs the jobs it has`() async throws {
    let runs: [Run<Int>]
    do {
      let queue = JobQueue(maxConcurrent: 1)
      runs = (0..<10).map { number in Job("job") { number }.launch(on: queue) }
    }
    for (number, run) in runs.enumerated() { #expect(try await run.value == number) }
  }

  /// Pending updates are released with the cancellation.
  @Test @MainActor func `Updates that are not delivered are released`() async {
    let (tracker, done) = (tracker, Flag())
    let run = Job("job") { (job: JobContext<LifetimeTracker.Tracked>) in
      for _ in 0..<10 { job.update(tracker.track()) }
      done.raise()
      _ = await Once<Void>().value()
    }
    .onUpdate { _ in }
    .launch(on: queue)
    while !done.isRaised { yieldThread() }
    #expect(tracker.alive == 10)
    run.cancel()
    #expect(tracker.alive == 1, "the latest, for those who look at the run")
    _ = await run.outcome
  }
}
