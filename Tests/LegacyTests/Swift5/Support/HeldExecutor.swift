// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise

/// Keeps what is started in it from running until it is released.
final class HeldExecutor: TaskExecutor {
  private let held = Lock<[UnownedJob]?>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isHeld = held.withLock { held in
      held?.append(job)
      return held != nil
    }
    if !isHeld { perform(job) }
  }

  /// Runs the body to its end, which must not wait for anything, and then all that it started.
  func run(_ body: @escaping @Sendable () -> Void) {
    Task(executorPreference: self) { body() }
    let first = held.withLock { held in held?.removeFirst() }
    first?.runSynchronously(on: asUnownedTaskExecutor())
    let rest = held.withLock { held in held.take() }
    for job in rest ?? [] { perform(job) }
  }

  private func perform(_ job: UnownedJob) {
    DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
