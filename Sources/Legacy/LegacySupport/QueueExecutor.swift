// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Dispatch

/// Runs jobs on a queue, as `inQueue:` requests.
package final class QueueExecutor: TaskExecutor {
  /// Runs steps, handlers and blocks without a queue; they may block there, as old ones do.
  package static let shared = QueueExecutor(.global())

  private let queue: DispatchQueue

  /// Creates an executor.
  package init(_ queue: DispatchQueue) {
    self.queue = queue
  }

  /// Runs a job in a turn of the queue.
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}
