// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Threads on which leases are renewed, and no step runs.
///
/// Steps that compute can occupy each thread of the cooperative pool for longer than a lease lasts. A task that prefers
/// these threads needs none of that pool, provided that it also sleeps here: `Task.sleep` resumes in the pool.
package final class LeaseThreads: TaskExecutor {
  package static let shared = LeaseThreads()

  /// Several, because code of the user that a lost lease cancels may block one.
  private let threads = IOThreads(limit: 4, patience: 1_000_000_000)

  private init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    threads.submit { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  /// Starts a task on these threads.
  package static func spawn(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    Task(executorPreference: shared, operation: operation)
  }

  /// Sleeps until a time has passed or the task is cancelled.
  package static func sleep(for duration: Duration) async {
    let isOver = Once<Void>()
    let number = shared.threads.submit(after: duration) { isOver.settle(()) }
    _ = await isOver.value()
    shared.threads.cancel(number)
  }
}
