// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The executor of the code between the steps of one durable run.
///
/// It runs one job after another, in the order in which they were enqueued. So the code takes the same path in each run,
/// if what it waits for arrives in the same order. That is why arrivals, such as the end of a step, are delivered one at
/// a time, each when the executor is idle: when all of the code waits.
///
/// What the code must not wait for on it, such as the body of a step, runs on `outer`.
final class DurableExecutor: TaskExecutor {
  /// The executor that is preferred where the run starts; it lends its threads.
  let outer: any TaskExecutor
  private let machine = Lock(DurableExecutorMachine<UnownedJob>())
  private let deliver: @Sendable () -> Bool

  /// Creates an executor; `deliver` delivers one arrival while it is idle, and returns false when there is none.
  init(on outer: any TaskExecutor, delivering deliver: @escaping @Sendable () -> Bool) {
    self.outer = outer
    self.deliver = deliver
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if machine.withLock({ $0.enqueue(job) }) { start() }
  }

  /// Something may have arrived.
  func notify() {
    if machine.withLock({ $0.notify() }) { start() }
  }

  private func start() { detach(on: outer) { self.run() } }

  private func run() {
    while true {
      switch machine.withLock({ $0.next() }) {
      // Each job from this frame, so that the stack does not grow with the number of jobs.
      case .run(let job): job.runSynchronously(on: asUnownedTaskExecutor())
      case .deliver: if deliver() { machine.withLock { _ = $0.notify() } }
      case .rest: return
      }
    }
  }
}

/// Decides what a durable executor does next: its jobs in order, and an arrival when none is left.
struct DurableExecutorMachine<Job> {
  enum Action {
    case run(Job)
    /// No job is left, and something may have arrived.
    case deliver
    /// The executor returns its thread.
    case rest
  }

  private enum State {
    /// It occupies no thread.
    case resting
    case running(hasNews: Bool)
  }

  private var state = State.resting
  private var jobs: [Job] = []
  /// The number of jobs at the beginning of the array that have run.
  private var runCount = 0

  /// The number of jobs in memory.
  var count: Int { jobs.count }

  /// Adds a job; returns whether the executor has to start.
  mutating func enqueue(_ job: Job) -> Bool {
    jobs.append(job)
    guard case .resting = state else { return false }
    state = .running(hasNews: false)
    return true
  }

  /// Notes that something may have arrived; returns whether the executor has to start.
  mutating func notify() -> Bool {
    defer { state = .running(hasNews: true) }
    guard case .resting = state else { return false }
    return true
  }

  mutating func next() -> Action {
    if runCount < jobs.count {
      let job = jobs[runCount]
      runCount += 1
      // Tasks that yield to each other never leave it without a job.
      if runCount > 1_024, 2 * runCount > jobs.count {
        jobs.removeFirst(runCount)
        runCount = 0
      }
      return .run(job)
    }
    jobs.removeAll(keepingCapacity: runCount <= 1_024)
    runCount = 0
    guard case .running(hasNews: true) = state else {
      state = .resting
      return .rest
    }
    state = .running(hasNews: false)
    return .deliver
  }
}
