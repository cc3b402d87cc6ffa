// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

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
  private let signal = ThreadSignal()

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
    if startThread() { return }
    // If no thread can be started, the work runs here: late is better than never.
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

  private func startThread() -> Bool {
    let argument = Unmanaged.passRetained(self)
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Darwin) || canImport(Musl)
      var thread: pthread_t?
    #else
      var thread = pthread_t()
    #endif
    let code = pthread_create(&thread, &attributes, ioThreadMain, argument.toOpaque())
    if code != 0 { argument.release() }
    return code == 0
  }

  fileprivate static func main(_ argument: UnsafeMutableRawPointer) {
    Unmanaged<IOThreads>.fromOpaque(argument).takeRetainedValue().work()
  }
}

#if canImport(Darwin)
  private let ioThreadMain: @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? = { argument in
    IOThreads.main(argument)
    return nil
  }
#else
  private let ioThreadMain: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
    if let argument { IOThreads.main(argument) }
    return nil
  }
#endif
