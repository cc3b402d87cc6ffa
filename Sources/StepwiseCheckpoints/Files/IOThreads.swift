// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Threads for blocking operations, which must not block the cooperative pool.
///
/// A thread starts when there is work and no idle thread. It ends after it has been idle for a while, because starting
/// a thread takes a considerable part of the time of a checkpoint.
package final class IOThreads: Sendable {
  package static let shared = IOThreads(limit: 8, patience: 1_000_000_000)

  private let limit: Int
  private let patience: Int
  private let queue = JobQueue()

  /// Creates the object without starting a thread.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of threads.
  ///   - patience: How many nanoseconds an idle thread waits for work before it ends.
  package init(limit: Int, patience: Int) {
    self.limit = limit
    self.patience = patience
  }

  package var threadCount: Int { queue.threadCount }

  /// Runs the work on one of the threads and waits for it, regardless of cancellation.
  @concurrent
  package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      submit { continuation.resume(with: Result(catching: work)) }
    }
  }

  /// Runs the work on one of the threads; in the order of the calls if the limit is one.
  package func submit(_ job: @escaping @Sendable () -> Void) {
    guard queue.append(job, limit: limit) else { return }
    if Platform.startThread({ self.work(patience: self.patience) }) { return }
    // If no thread can be started, the work runs here.
    work(patience: 0)
  }

  private func work(patience: Int) {
    while let job = queue.next(patience: patience) { job() }
  }
}

/// Jobs and the threads for them, behind a mutex of the C library: the standard library has no condition.
// Safety: the addresses never change, and the variables are used only while the mutex is locked.
private final class JobQueue: @unchecked Sendable {
  typealias Job = @Sendable () -> Void

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var jobs = OrderedSlots<Job>()
  private var threads = 0
  /// The number of idle threads.
  private var idle = 0

  init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  var threadCount: Int {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return threads
  }

  /// Adds a job; returns whether it needs a new thread, which then counts.
  func append(_ job: @escaping Job, limit: Int) -> Bool {
    pthread_mutex_lock(mutex)
    jobs.append(job)
    let needsThread = jobs.count > idle && threads < limit
    if needsThread { threads += 1 }
    pthread_mutex_unlock(mutex)
    // Not before, because the thread that wakes needs the mutex.
    if !needsThread { pthread_cond_signal(condition) }
    return needsThread
  }

  /// Removes the next job, for which it waits.
  ///
  /// - Parameter patience: The maximum wait in nanoseconds.
  /// - Returns: Nil when there is none by then: the thread no longer counts.
  func next(patience: Int) -> Job? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if jobs.isEmpty {
      idle += 1
      var end = WallClock.time(after: patience)
      while jobs.isEmpty, pthread_cond_timedwait(condition, mutex, &end) == 0 {}
      idle -= 1
    }
    let job = jobs.popFirst()
    if job == nil { threads -= 1 }
    return job
  }
}
