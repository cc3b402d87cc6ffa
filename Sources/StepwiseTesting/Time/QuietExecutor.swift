// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import StepwiseCheckpoints

/// A task executor with one thread that can be awaited until neither it nor the main actor has anything to do.
final class QuietExecutor: TaskExecutor {
  /// How many turns of the main queue may follow each other before the executor gets a job back.
  ///
  /// A task on the main actor that awaits another one there takes a turn, and a flow takes several from one step to the
  /// next.
  private static let mainActorTurns = 16

  private let mainQueue: DispatchQueue
  /// How many seconds a turn may take; then the main thread is blocked, perhaps by the test that waits here.
  private let patience: TimeInterval
  private let threads = IOThreads(limit: 1, patience: 1_000_000)
  /// The number of jobs that are queued or running.
  private let jobs = Watched(0)
  private let turns = Lock(Turns())
  /// Signaled when a job arrives and when the main queue has taken a turn.
  private let arrival = NSCondition()

  init(mainQueue: DispatchQueue = .main, patience: TimeInterval = 60) {
    (self.mainQueue, self.patience) = (mainQueue, patience)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    begin()
    whileRetained {
      threads.submit { [self] in
        job.runSynchronously(on: asUnownedTaskExecutor())
        jobs.mutate { $0 -= 1 }
      }
    }
  }

  /// What the library does elsewhere counts as a job.
  var workElsewhere: WorkElsewhere {
    WorkElsewhere(begin: { self.begin() }, end: { self.jobs.mutate { $0 -= 1 } })
  }

  private func begin() {
    jobs.mutate { $0 += 1 }
    wake()
  }

  private func wake() {
    arrival.lock()
    arrival.signal()
    arrival.unlock()
  }

  /// Suspends until there is nothing to do, or until the waiting task is cancelled.
  ///
  /// To be called on this executor: as long as the caller does not wait, there is a job.
  nonisolated(nonsending) func quiet() async {
    repeat { await jobs.wait { $0 == 0 } } while !Task.isCancelled && !isMainActorIdle()
  }

  /// Lets the main actor take some turns, and returns whether that has brought no job.
  ///
  /// It blocks the executor's thread, whose only job is the caller.
  private func isMainActorIdle() -> Bool {
    for _ in 0..<Self.mainActorTurns {
      takeTurnOfMainActor()
      if jobs.read({ $0 > 1 }) { return false }
    }
    return true
  }

  /// Waits until the main actor has run what was on its way there, or until a job arrives.
  ///
  /// Its queue is first in, first out, so what was sent there before has run when a further block runs.
  private func takeTurnOfMainActor() {
    let turn = turns.withLock { turns -> Int? in
      if turns.isBlocked { return nil }
      turns.requested += 1
      return turns.requested
    }
    guard let turn else { return }
    mainQueue.async { [self] in
      turns.withLock { $0.take(turn) }
      wake()
    }
    let deadline = Date(timeIntervalSinceNow: patience)
    arrival.lock()
    defer { arrival.unlock() }
    while jobs.read({ $0 <= 1 }), turns.withLock({ $0.taken < turn }) {
      guard arrival.wait(until: deadline) else { return turns.withLock { $0.isBlocked = $0.taken < turn } }
    }
  }

  /// The turns of the main queue.
  private struct Turns {
    var requested = 0
    var taken = 0
    /// Whether the main queue has not taken a turn in time.
    var isBlocked = false

    mutating func take(_ turn: Int) {
      taken = turn
      isBlocked = false
    }
  }
}
