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
/// A thread begins when there is work, takes more as long as there is any, and ends.
package final class IOThreads: Sendable {
  package static let shared = IOThreads(limit: 8)

  private typealias Job = @Sendable () -> Void

  private struct State {
    var jobs = OrderedSlots<Job>()
    var threads = 0
  }

  private let limit: Int
  private let state = Lock(State())

  package init(limit: Int) {
    self.limit = limit
  }

  /// Runs the work on a thread of its own kind, and waits for it whatever happens to the Task.
  @concurrent
  package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      submit { continuation.resume(with: Result(catching: work)) }
    }
  }

  private func submit(_ job: @escaping Job) {
    let needsThread = state.withLock { state in
      _ = state.jobs.append(job)
      guard state.threads < limit else { return false }
      state.threads += 1
      return true
    }
    // Without a thread the work is done here: late is better than never.
    if needsThread, !startThread() { work() }
  }

  private func work() {
    while let job = nextJob() { job() }
  }

  private func nextJob() -> Job? {
    state.withLock { state in
      let job = state.jobs.popFirst()
      if job == nil { state.threads -= 1 }
      return job
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
