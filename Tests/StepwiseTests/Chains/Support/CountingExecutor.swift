// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise
import StepwiseTesting

/// An executor that counts its jobs and knows whether the current code runs on it.
final class CountingExecutor: TaskExecutor, SerialExecutor {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()

  private let queue = DispatchQueue(label: "counting executor")
  private let jobs = Watched(0)

  init() {
    queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
  }

  /// How many jobs it was given.
  var jobCount: Int { jobs.read { $0 } }

  /// Whether the calling code runs on it.
  var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

  func enqueue(_ job: consuming ExecutorJob) {
    jobs.mutate { $0 += 1 }
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

/// Whether the calling code runs on the main queue, which on Linux is not always the main thread.
func isOnTheMainQueue() -> Bool {
  DispatchQueue.getSpecific(key: mainQueueKey) == true
}

private let mainQueueKey: DispatchSpecificKey<Bool> = {
  let key = DispatchSpecificKey<Bool>()
  DispatchQueue.main.setSpecific(key: key, value: true)
  return key
}()
