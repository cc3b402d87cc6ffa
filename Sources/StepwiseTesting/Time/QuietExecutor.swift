// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

/// A task executor with one thread that can be awaited until it has nothing to do.
final class QuietExecutor: TaskExecutor {
  private let threads = IOThreads(limit: 1, patience: 1_000_000)
  /// The number of jobs that are queued or running.
  private let jobs = Watched(0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.mutate { $0 += 1 }
    whileRetained {
      threads.submit { [self] in
        job.runSynchronously(on: asUnownedTaskExecutor())
        jobs.mutate { $0 -= 1 }
      }
    }
  }

  /// Suspends until no job is queued or running, or until the waiting task is cancelled.
  ///
  /// To be called on this executor: as long as the caller does not wait, there is a job.
  nonisolated(nonsending) func quiet() async {
    await jobs.wait { $0 == 0 }
  }
}
