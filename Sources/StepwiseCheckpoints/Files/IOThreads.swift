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

/// Threads for operations that block, which must not take those of the cooperative pool.
///
/// A thread begins when there is work and ends when there is none left.
package final class IOThreads: Sendable {
  package static let shared = IOThreads(limit: 8)

  private struct State {
    var jobs: [@Sendable () -> Void] = []
    /// The first job in the array that nobody has taken.
    var next = 0
    var threads = 0

    mutating func take() -> (@Sendable () -> Void)? {
      guard next < jobs.count else {
        threads -= 1
        (jobs, next) = ([], 0)
        return nil
      }
      defer { next += 1 }
      let job = jobs[next]
      jobs[next] = {}
      return job
    }
  }

  private let limit: Int
  private let state = Lock(State())

  init(limit: Int) {
    self.limit = limit
  }

  /// Runs the work on a thread of its own kind, and waits for it whatever happens to the Task.
  @concurrent
  package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      submit { continuation.resume(with: Result(catching: work)) }
    }
  }

  private func submit(_ job: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      state.jobs.append(job)
      guard state.threads < limit else { return false }
      state.threads += 1
      return true
    }
    // Without a thread the work is done here: late is better than never.
    if needsThread, !startThread() { work() }
  }

  private func work() {
    while let job = state.withLock({ state in state.take() }) { job() }
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
