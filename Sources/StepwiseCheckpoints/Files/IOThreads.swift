// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise

/// Threads for blocking operations, which must not block the cooperative pool.
package final class IOThreads: Sendable {
  private typealias Job = @Sendable () -> Void

  private struct State {
    var jobs = OrderedSlots<Job>()
    /// Those that perform no job; each has a thread while it performs some.
    var idle: [DispatchQueue]
  }

  package static let shared = IOThreads(limit: 8)

  private let state: Lock<State>

  /// Creates the object without starting a thread.
  ///
  /// - Parameter limit: The maximum number of threads.
  package init(limit: Int) {
    state = Lock(State(idle: (0..<limit).map { DispatchQueue(label: "stepwise.io.\($0)") }))
  }

  /// Runs the work on one of the threads and waits for it, regardless of cancellation.
  @concurrent
  package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      submit { continuation.resume(with: Result(catching: work)) }
    }
  }

  /// Runs the work on one of the threads; in the order of the calls if the limit is one.
  package func submit(_ job: @escaping @Sendable () -> Void) {
    let queue = state.withLock { state in
      state.jobs.append(job)
      return state.idle.popLast()
    }
    guard let queue else { return }
    queue.async { while let job = self.next(on: queue) { job() } }
  }

  private func next(on queue: DispatchQueue) -> Job? {
    state.withLock { state in
      let job = state.jobs.popFirst()
      if job == nil { state.idle.append(queue) }
      return job
    }
  }
}
