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
    try await WorkElsewhere.whileBusy {
      try await withCheckedThrowingContinuation { continuation in
        submit { continuation.resume(with: Result(catching: work)) }
      }
    }
  }

  /// Runs the work on one of the threads; in the order of the calls if the limit is one.
  package func submit(_ job: @escaping @Sendable () -> Void) {
    guard queue.append(job, limit: limit) else { return }
    if Platform.startThread({ self.work(patience: self.patience) }) { return }
    // If no thread can be started, the work runs here.
    work(patience: 0)
  }

  /// Runs the work on one of the threads when a time has passed.
  ///
  /// - Returns: The number with which to cancel it.
  func submit(after delay: Duration, _ job: @escaping @Sendable () -> Void) -> Int {
    let number = queue.append(job, at: .now + delay)
    startWaiter()
    return number
  }

  /// Cancels work that was to run later, unless it is over.
  func cancel(_ number: Int) { queue.remove(number) }

  private func work(patience: Int) {
    while let job = queue.next(patience: patience) {
      startWaiter()
      job()
    }
  }

  /// Starts a thread that waits for what is to run later, if the others have work.
  private func startWaiter() {
    guard queue.needsWaiter(limit: limit) else { return }
    if !Platform.startThread({ self.work(patience: self.patience) }) { queue.hasNoWaiter() }
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
  /// What is to run later, in the order of time.
  private var delayed: [(due: ContinuousClock.Instant, number: Int, job: Job)] = []
  private var lastNumber = 0
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

  /// Adds a job that is to run later.
  func append(_ job: @escaping Job, at due: ContinuousClock.Instant) -> Int {
    pthread_mutex_lock(mutex)
    lastNumber += 1
    let number = lastNumber
    let index = delayed.lastIndex { $0.due <= due }.map { $0 + 1 } ?? 0
    delayed.insert((due, number, job), at: index)
    pthread_mutex_unlock(mutex)
    // A thread may wait for a later one.
    if index == 0 { pthread_cond_broadcast(condition) }
    return number
  }

  func remove(_ number: Int) {
    pthread_mutex_lock(mutex)
    let index = delayed.firstIndex { $0.number == number }
    // Its release may call code.
    let removed = index.map { delayed.remove(at: $0) }
    pthread_mutex_unlock(mutex)
    withExtendedLifetime(removed) {}
  }

  /// Whether there is a job for later and no idle thread that waits for it; then a new thread counts.
  func needsWaiter(limit: Int) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    guard !delayed.isEmpty, idle == 0, threads < limit else { return false }
    threads += 1
    return true
  }

  /// The new thread could not be started.
  func hasNoWaiter() {
    pthread_mutex_lock(mutex)
    threads -= 1
    pthread_mutex_unlock(mutex)
  }

  /// Removes the next job, for which it waits; as long as there is one for later, one thread waits for that.
  ///
  /// - Parameter patience: The maximum wait in nanoseconds.
  /// - Returns: Nil when there is none by then: the thread no longer counts.
  func next(patience: Int) -> Job? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    idle += 1
    let end = ContinuousClock.now + .nanoseconds(patience)
    while true {
      let now = ContinuousClock.now
      while let next = delayed.first, next.due <= now { jobs.append(delayed.removeFirst().job) }
      let mayEnd = delayed.isEmpty || idle > 1 || patience == 0
      if !jobs.isEmpty || now >= end && mayEnd { break }
      // The system's clock may be set, so that a longer wait would be of another length.
      let due = min(delayed.first?.due ?? end, mayEnd ? end : now + .seconds(1))
      var time = WallClock.time(after: Int(now.duration(to: due) / .nanoseconds(1)) + 1)
      pthread_cond_timedwait(condition, mutex, &time)
    }
    idle -= 1
    let job = jobs.popFirst()
    if job == nil { threads -= 1 }
    return job
  }
}
