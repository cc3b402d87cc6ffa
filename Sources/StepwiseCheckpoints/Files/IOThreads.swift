// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise

/// Threads for blocking operations, which must not block the cooperative pool.
///
/// A thread starts when there is work and no idle thread. It ends after it has been idle for a while, because starting
/// a thread takes a considerable part of the time of a checkpoint.
package final class IOThreads: Sendable {
  private typealias Job = @Sendable () -> Void

  private struct State {
    var jobs = OrderedSlots<Job>()
    var threads = 0
    /// The number of threads that wait for work.
    var idle = 0
  }

  package static let shared = IOThreads(limit: 8, patience: 1_000_000_000)

  private let limit: Int
  private let patience: Int
  private let state = Lock(State())
  /// Signalled for each job that an idle thread may take.
  private let work = DispatchSemaphore(value: 0)

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
    let (needsThread, hasIdle) = state.withLock { state in
      state.jobs.append(job)
      let needsThread = state.jobs.count > state.idle && state.threads < limit
      if needsThread { state.threads += 1 }
      return (needsThread, state.idle > 0)
    }
    if needsThread {
      if Platform.startThread({ self.perform(patience: self.patience) }) { return }
      // If no thread can be started, the work runs here.
      perform(patience: 0)
    } else if hasIdle {
      work.signal()
    }
  }

  /// Performs jobs until none has come for some nanoseconds.
  private func perform(patience: Int) {
    while let job = next(patience: patience) { job() }
  }

  private func next(patience: Int) -> Job? {
    let end = DispatchTime.now() + .nanoseconds(patience)
    var (isIdle, isLate) = (false, false)
    while true {
      let job = state.withLock { state -> Job? in
        if isIdle { state.idle -= 1 }
        if let job = state.jobs.popFirst() { return job }
        if isLate { state.threads -= 1 } else { state.idle += 1 }
        return nil
      }
      if job != nil || isLate { return job }
      isIdle = true
      isLate = work.wait(timeout: end) == .timedOut
    }
  }
}
