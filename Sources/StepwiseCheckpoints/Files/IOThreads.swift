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
/// A thread begins when there is work and nobody idle, waits for more on a pipe, since one that has slept is run sooner
/// than one that is new, and ends when there was none for a while.
package final class IOThreads: Sendable {
  package static let shared = IOThreads(limit: 8)

  private struct State {
    var jobs: [@Sendable () -> Void] = []
    /// The first job in the array that nobody has taken.
    var next = 0
    var threads = 0
    /// How many threads wait on the pipe, those aside for which there is a byte in it.
    var idle = 0
    /// The ends of the pipe; nil before it is needed, and when there can be none.
    var pipe: (read: Int32, write: Int32)?

    mutating func take() -> (@Sendable () -> Void)? {
      guard next < jobs.count else {
        (jobs, next) = ([], 0)
        return nil
      }
      defer { next += 1 }
      let job = jobs[next]
      jobs[next] = {}
      return job
    }
  }

  private enum Work {
    case job(@Sendable () -> Void)
    /// Wait for a byte in this pipe.
    case wait(Int32)
    case end
  }

  private enum Submission {
    case wake(Int32)
    case start
    case leave
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

  private func submit(_ job: @escaping @Sendable () -> Void) {
    let submission = state.withLock { state -> Submission in
      state.jobs.append(job)
      if state.idle > 0, let pipe = state.pipe {
        state.idle -= 1
        return .wake(pipe.write)
      }
      guard state.threads < limit else { return .leave }
      state.threads += 1
      return .start
    }
    switch submission {
    case .wake(let pipe):
      var byte: UInt8 = 0
      _ = retrying { write(pipe, &byte, 1) }
    case .start:
      // Without a thread the work is done here: late is better than never.
      if !startThread() { work(mayWait: false) }
    case .leave:
      break
    }
  }

  private func work(mayWait: Bool) {
    while true {
      switch state.withLock({ state in next(&state, mayWait: mayWait) }) {
      case .job(let job): job()
      case .wait(let pipe): if !wait(on: pipe) { return }
      case .end: return
      }
    }
  }

  private func next(_ state: inout State, mayWait: Bool) -> Work {
    if let job = state.take() { return .job(job) }
    if mayWait, state.pipe == nil { state.pipe = makePipe() }
    guard mayWait, let pipe = state.pipe else {
      state.threads -= 1
      return .end
    }
    state.idle += 1
    return .wait(pipe.read)
  }

  /// Waits until there is work; false when the thread is to end.
  private func wait(on pipe: Int32) -> Bool {
    var wanted = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
    while true {
      errno = 0
      let isReady = poll(&wanted, 1, 10_000) > 0
      var byte: UInt8 = 0
      if isReady, read(pipe, &byte, 1) == 1 { return true }
      // Somebody else took the byte; or the time is over, unless a byte is on its way.
      guard !isReady, errno != EINTR else { continue }
      let ends = state.withLock { state in
        guard state.idle > 0 else { return false }
        state.idle -= 1
        state.threads -= 1
        return true
      }
      if ends { return false }
    }
  }

  private func makePipe() -> (read: Int32, write: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // Of the threads that see one byte, one reads it and the others go on waiting.
    _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
    return (ends[0], ends[1])
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
    Unmanaged<IOThreads>.fromOpaque(argument).takeRetainedValue().work(mayWait: true)
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
