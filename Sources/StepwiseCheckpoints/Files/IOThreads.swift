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

  private typealias Job = @Sendable () -> Void

  private struct State {
    var jobs = OrderedSlots<Job>()
    var threads = 0
    /// The number of idle threads.
    var idle = 0
  }

  private let limit: Int
  private let patience: Int
  private let state = Lock(State())
  private let signal = WorkSignal()

  /// Creates the object without starting a thread.
  ///
  /// - Parameters:
  ///   - limit: The maximum number of threads.
  ///   - patience: How many nanoseconds an idle thread waits for work before it ends.
  package init(limit: Int, patience: Int) {
    self.limit = limit
    self.patience = patience
  }

  package var threadCount: Int { state.withLock { $0.threads } }

  /// Runs the work on one of the threads and waits for it, regardless of cancellation.
  @concurrent
  package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      submit { continuation.resume(with: Result(catching: work)) }
    }
  }

  /// Runs the work on one of the threads; in the order of the calls if the limit is one.
  package func submit(_ job: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      _ = state.jobs.append(job)
      guard state.jobs.count > state.idle, state.threads < limit else { return false }
      state.threads += 1
      return true
    }
    guard needsThread else { return signal.wake() }
    if Platform.startThread({ self.work() }) { return }
    // If no thread can be started, the work runs here.
    while let job = nextJob() { job() }
    state.withLock { $0.threads -= 1 }
  }

  private func work() {
    repeat {
      while let job = nextJob() { job() }
    } while waitForJobs()
  }

  private func nextJob() -> Job? { state.withLock { $0.jobs.popFirst() } }

  /// Waits for work; returns false when the thread has to end, in which case it is no longer counted.
  private func waitForJobs() -> Bool {
    state.withLock { $0.idle += 1 }
    signal.wait(nanoseconds: patience) { state.withLock { $0.jobs.isEmpty } }
    return state.withLock { state in
      state.idle -= 1
      if state.jobs.isEmpty { state.threads -= 1 }
      return !state.jobs.isEmpty
    }
  }
}

/// A condition variable of the C library with its mutex: the standard library has none.
// Safety: the addresses never change, and only functions of pthreads use what is stored there.
private final class WorkSignal: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

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

  /// Wakes one waiting thread; call it after the awaited change.
  func wake() {
    pthread_mutex_lock(mutex)
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits until it is woken, or for a number of nanoseconds; sometimes for less.
  ///
  /// - Parameters:
  ///   - nanoseconds: The maximum wait.
  ///   - isNeeded: Returns whether there is anything to wait for.
  func wait(nanoseconds: Int, if isNeeded: () -> Bool) {
    var end = WallClock.time(after: nanoseconds)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if isNeeded() { pthread_cond_timedwait(condition, mutex, &end) }
  }
}
