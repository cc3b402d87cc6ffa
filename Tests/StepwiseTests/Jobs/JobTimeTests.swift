// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// The two timers of a job: one counts from the start of the work, the other from the launch.
@Suite(.timeLimit(.minutes(5)))
struct JobTimeTests {
  private let notes = JobNotes()
  private let queue = JobQueue(maxConcurrent: 1)
  private let clock = ManualClock()

  /// Work that runs until it is cancelled.
  private static func untilCancelled(_ begun: Once<Void>) -> Job<Void, Int, Int> {
    Job("job") { (_: JobContext<Int>) -> Int in
      begun.settle(())
      _ = await Once<Void>().value()
      throw CancellationError()
    }
  }

  // G133
  @Test func `The timeout counts from the start of the work`() async {
    let begun = Once<Void>()
    queue.suspend()
    let run = Self.untilCancelled(begun).timeout(.seconds(10), clock: clock).noting(notes).launch(on: queue)
    await notes.recorder.wait(for: "start")
    clock.advance(by: .seconds(100))
    queue.resume()
    await begun.valueIgnoringCancellation()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(9))
    #expect(clock.sleeperCount == 1 && !run.isFinished)
    clock.advance(by: .seconds(1))
    guard case .failed(let error as TimeoutError) = await run.outcome else {
      Issue.record("no timeout")
      return
    }
    #expect(error.step == "job" && error.duration == .seconds(10))
    #expect(notes.lines == ["start", "timeout", "finish TimeoutError"])
  }

  // G133
  @Test func `The deadline counts from the launch`() async {
    let begun = Once<Void>()
    queue.suspend()
    let run = Self.untilCancelled(begun).deadline(.seconds(10), clock: clock).noting(notes).launch(on: queue)
    clock.advance(by: .seconds(9))
    queue.resume()
    await begun.valueIgnoringCancellation()
    await clock.sleepers(atLeast: 1)
    #expect(clock.nextDeadline?.offset == .seconds(10), "however late its timer began to sleep")
    clock.advance(by: .seconds(1))
    _ = await run.outcome
    #expect(notes.lines == ["start", "timeout", "finish TimeoutError"])
  }

  @Test func `A job whose deadline comes while it waits never begins`() async throws {
    queue.suspend()
    let job = Job("job") { [notes] (_: JobContext<Int>) -> Int in
      notes.note("work")
      return 1
    }
    let run = job.deadline(.seconds(10), clock: clock).noting(notes).launch(on: queue)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(10))
    _ = await run.outcome
    #expect(notes.lines == ["start", "timeout", "finish TimeoutError"])
    queue.resume()
    #expect(try await Job("next") { 2 }.launch(on: queue).value == 2)
  }

  @Test
  func `A job that misses its deadline leaves the queue, then calls handlers`() async {
    queue.suspend()
    let job = Self.untilCancelled(Once()).deadline(.seconds(10), clock: clock)
      .onTimeout { [queue] in notes.note("timeout, \(queue.gate.entrants.count) in the queue") }
    let run = job.launch(on: queue)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(10))
    _ = await run.outcome
    #expect(notes.lines == ["timeout, 0 in the queue"])
  }

  @Test func `A value that the work returns after its limit wins`() async throws {
    let begun = Once<Void>()
    let job = Job("job") { (_: JobContext<Int>) -> Int in
      begun.settle(())
      _ = await Once<Void>().value()
      return 7
    }
    let run = job.timeout(.seconds(1), clock: clock).deadline(.seconds(9), clock: clock).noting(notes).launch(on: queue)
    await begun.valueIgnoringCancellation()
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(1))
    #expect(try await run.value == 7)
    #expect(notes.lines == ["start", "finish 7"])
  }

  @Test func `A timeout inside the work is an error, not the job's timeout`() async {
    let inner = Chain { try await ManualClock().sleep(for: .seconds(1)) }.timeout(.seconds(1), clock: clock)
    let job = Job("job") { (_: JobContext<Int>) in try await inner.run() }
    let run = job.timeout(.seconds(10), clock: clock).noting(notes).launch(on: queue)
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(1))
    _ = await run.outcome
    #expect(notes.lines == ["start", "error TimeoutError", "finish TimeoutError"])
  }

  @Test func `A timeout without a handler goes to the handlers of errors`() async {
    let begun = Once<Void>()
    let job = Self.untilCancelled(begun).timeout(.seconds(1), clock: clock)
      .onError(of: TimeoutError.self) { error in notes.note("\(error)") }
      .onFinish { _ in notes.note("finish") }
    let run = job.launch(on: queue)
    await begun.valueIgnoringCancellation()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    _ = await run.outcome
    #expect(notes.lines == ["job did not end within 1 second", "finish"])
  }

  @Test func `The timeout error contains what the work threw`() async {
    let begun = Once<Void>()
    let job = Job("job") {
      begun.settle(())
      guard await Once<Void>().value() != nil else { throw Fault(3) }
    }
    let run: Run<Void> = job.timeout(.seconds(1), clock: clock).launch(on: queue)
    await begun.valueIgnoringCancellation()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    guard case .failed(let error as TimeoutError) = await run.outcome else {
      Issue.record("no timeout")
      return
    }
    #expect(error.underlyingError as? Fault == Fault(3))
  }

  @Test func `A cancel after the timeout is a cancel and calls no handler`() async {
    let (begun, goOn) = (Once<Void>(), Once<Void>())
    let job = Job("job") { (_: JobContext<Int>) -> Int in
      begun.settle(())
      _ = await Once<Void>().value()
      await goOn.valueIgnoringCancellation()
      throw CancellationError()
    }
    let run = job.timeout(.seconds(1), clock: clock).noting(notes).launch(on: queue)
    await notes.recorder.wait(for: "start")
    await begun.valueIgnoringCancellation()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    #expect(run.cancel(reason: "late"))
    goOn.settle(())
    #expect(await run.outcome.cancellation?.reason == "late")
    await letMainActorCatchUp()
    #expect(notes.lines == ["start"])
  }

  @Test func `The timers of a job that has ended sleep no longer`() async throws {
    let job = Job("job") { 1 }.timeout(.seconds(1), clock: clock).deadline(.seconds(1), clock: clock)
    #expect(try await job.launch(on: queue).value == 1)
    #expect(clock.sleeperCount == 0)
  }
}
