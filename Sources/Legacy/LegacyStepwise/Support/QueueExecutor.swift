// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch

/// Runs steps on a queue, as `inQueue:` asks for.
final class QueueExecutor: TaskExecutor {
  /// Where steps and handlers run that name no queue: they may block there, as old ones do.
  static let shared = QueueExecutor(.global())

  private let queue: DispatchQueue

  init(_ queue: DispatchQueue) {
    self.queue = queue
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }

  static func make(_ queue: DispatchQueue?) -> QueueExecutor {
    queue.map(QueueExecutor.init) ?? shared
  }
}
