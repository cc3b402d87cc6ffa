// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// How a job ends, and which handlers are then called, in order and on the main actor.
@Suite(.timeLimit(.minutes(5)))
struct JobTableTests {
  enum Ending: String, CaseIterable {
    case value, specificError, otherError, timeout, deadline, timeoutErrorOfTheWork
    case cancelAtOnce, cancelBeforeStart, cancelDuring, tokenDuring, queueDuring, taskDuring, ownerGone

    var reported: [String] {
      switch self {
      case .value: ["start", "update 1", "update 2", "finish 7"]
      case .specificError: ["start", "update 1", "update 2", "fault 3", "finish Fault"]
      case .otherError: ["start", "update 1", "update 2", "error Strange", "finish Strange"]
      case .timeout, .deadline: ["start", "update 1", "update 2", "timeout", "finish TimeoutError"]
      case .timeoutErrorOfTheWork:
        ["start", "update 1", "update 2", "error TimeoutError", "finish TimeoutError"]
      case .cancelAtOnce: []
      case .cancelBeforeStart: ["start"]
      case .cancelDuring, .tokenDuring, .queueDuring, .taskDuring, .ownerGone: ["start", "update 1"]
      }
    }

    var outcome: String {
      switch self {
      case .value, .ownerGone: "resolved"
      case .specificError, .otherError, .timeout, .deadline, .timeoutErrorOfTheWork: "failed"
      case .cancelAtOnce, .cancelBeforeStart, .cancelDuring, .tokenDuring, .queueDuring: "cancelled: left"
      case .taskDuring: "cancelled: no reason"
      }
    }
  }

  struct Strange: Error {}

  final class Owner: Sendable {}

  enum Place: CaseIterable {
    case mainActor, elsewhere
  }

  // G130
  @Test(arguments: Ending.allCases, Place.allCases)
  func `Handlers are called in order on the main actor`(ending: Ending, place: Place) async {
    let notes = JobNotes()
    let outcome = place == .mainActor ? await endOnMainActor(ending, notes) : await end(ending, notes)
    await letMainActorCatchUp()
    #expect(notes.lines == ending.reported)
    #expect(outcome == ending.outcome)
  }

  @MainActor private func endOnMainActor(_ ending: Ending, _ notes: JobNotes) async -> String {
    await end(ending, notes)
  }

  private nonisolated(nonsending) func end(_ ending: Ending, _ notes: JobNotes) async -> String {
    let (clock, queue, token) = (ManualClock(), JobQueue(maxConcurrent: 1), CancellationToken())
    let (goOn, afterOne) = (Once<Void>(), Once<Void>())
    var owner: Owner? = Owner()
    var job = Job("job") { (input: Int, job: JobContext<Int>) -> Int in
      job.update(1)
      await afterOne.valueIgnoringCancellation()
      if ending == .taskDuring { withUnsafeCurrentTask { $0?.cancel() } }
      try Task.checkCancellation()
      job.update(2)
      switch ending {
      case .specificError: throw Fault(3)
      case .otherError: throw Strange()
      case .timeoutErrorOfTheWork: throw TimeoutError(step: "its own", duration: .seconds(1))
      case .timeout, .deadline: guard await goOn.value() != nil else { throw CancellationError() }
      default: break
      }
      return input
    }.noting(notes)
    if let owner { job = job.bound(to: owner) }
    if ending == .timeout { job = job.timeout(.seconds(1), clock: clock) }
    if ending == .deadline { job = job.deadline(.seconds(1), clock: clock) }

    if ending == .cancelBeforeStart { queue.suspend() }
    let run = await launch(job, on: queue, under: token, isCancelledAtOnce: ending == .cancelAtOnce)
    if ending != .cancelAtOnce { await notes.recorder.elements(atLeast: ending == .cancelBeforeStart ? 1 : 2) }
    switch ending {
    case .cancelBeforeStart, .cancelDuring: run?.cancel(reason: "left")
    case .tokenDuring: token.cancel(reason: "left")
    case .queueDuring: queue.cancel(named: "job", reason: "left")
    case .ownerGone: owner = nil
    default: break
    }
    afterOne.settle(())
    if ending == .timeout || ending == .deadline {
      await notes.recorder.elements(atLeast: 3)
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(1))
    }
    let outcome = await run?.outcome
    _ = owner
    switch outcome {
    case .resolved: return "resolved"
    case .failed: return "failed"
    case .cancelled(let cancellation): return "cancelled: \(cancellation.reason ?? "no reason")"
    case nil: return "nothing"
    }
  }

  /// On the main actor, so that no handler can be called between the launch and a cancellation.
  @MainActor private func launch(
    _ job: Job<Int, Int, Int>,
    on queue: JobQueue,
    under token: CancellationToken,
    isCancelledAtOnce: Bool
  ) async -> JobRun<Int, Int>? {
    try? await withCancellation(by: token) {
      let run = job.launch(7, on: queue)
      if isCancelledAtOnce { run.cancel(reason: "left") }
      return run
    }
  }
}
