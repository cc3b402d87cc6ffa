// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The executor of the code between the steps of one durable run.
///
/// It runs one job after another, in the order in which they were enqueued. So the code takes the same path in each run,
/// if what it waits for arrives in the same order. That is why arrivals, such as the end of a step, are delivered one at
/// a time, each when the executor is idle: when all of the code waits.
///
/// What the code must not wait for on it, such as the body of a step, runs on `outer`. Code that returns from elsewhere
/// for another reason, such as from the main actor, is held until `deliver` admits it.
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
    let (job, thread) = (UnownedJob(job), Platform.currentThread)
    let starts = machine.withLock { $0.enqueue(job, on: thread) } ?? receive(job)
    if starts { start() }
  }

  private func receive(_ job: UnownedJob) -> Bool {
    let name = Self.name(of: job)
    return machine.withLock { $0.receive(job, name) }
  }

  /// The running code leaves the executor, and goes on as soon as it returns.
  func depart() {
    guard let job = machine.withLock({ $0.current }) else { return }
    let name = Self.name(of: job)
    machine.withLock { $0.depart(name) }
  }

  /// Something may have arrived.
  func notify() {
    if machine.withLock({ $0.notify() }) { start() }
  }

  /// Whether code that has returned from elsewhere is held.
  var isHolding: Bool { machine.withLock { $0.isHolding } }

  /// The first code that is held goes on.
  func admit() {
    if machine.withLock({ $0.admit() }) { start() }
  }

  /// From now on, no code is held: its order does not matter.
  func free() {
    if machine.withLock({ $0.free() }) { start() }
  }

  /// Tells the jobs of one task from those of others.
  private static func name(of job: UnownedJob) -> String { "\(job)" }

  private func start() { detach(on: outer) { self.run() } }

  private func run() {
    let thread = Platform.currentThread
    while true {
      switch machine.withLock({ $0.next(on: thread) }) {
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
  /// The thread that runs the jobs.
  private var thread: UInt?
  /// The job that runs, or has run last.
  private(set) var current: Job?
  private var held: [Job] = []
  /// The names of the jobs that left the executor and return to go on.
  private var away: Set<String> = []
  /// Whether jobs from elsewhere are held; the first job begins the code.
  private var holds = false
  private var isFree = false

  /// The number of jobs in memory.
  var count: Int { jobs.count }

  var isHolding: Bool { !held.isEmpty }

  /// Adds a job that comes from the code, on its thread; returns whether the executor has to start, or nil for a job from
  /// elsewhere.
  mutating func enqueue(_ job: Job, on thread: UInt) -> Bool? {
    guard self.thread == thread || !holds || isFree else { return nil }
    holds = true
    return add(job)
  }

  /// Adds or holds a job that comes from elsewhere; returns whether the executor has to start.
  mutating func receive(_ job: Job, _ name: String) -> Bool {
    if isFree || away.remove(name) != nil { return add(job) }
    held.append(job)
    return notify()
  }

  private mutating func add(_ job: Job) -> Bool {
    jobs.append(job)
    guard case .resting = state else { return false }
    state = .running(hasNews: false)
    return true
  }

  mutating func depart(_ name: String) { away.insert(name) }

  mutating func admit() -> Bool { held.isEmpty ? false : add(held.removeFirst()) }

  mutating func free() -> Bool {
    isFree = true
    var starts = false
    while !held.isEmpty { if admit() { starts = true } }
    return starts
  }

  /// Notes that something may have arrived; returns whether the executor has to start.
  mutating func notify() -> Bool {
    defer { state = .running(hasNews: true) }
    guard case .resting = state else { return false }
    return true
  }

  mutating func next(on thread: UInt) -> Action {
    self.thread = thread
    if runCount < jobs.count {
      let job = jobs[runCount]
      runCount += 1
      // Tasks that yield to each other never leave it without a job.
      if runCount > 1_024, 2 * runCount > jobs.count {
        jobs.removeFirst(runCount)
        runCount = 0
      }
      current = job
      return .run(job)
    }
    jobs.removeAll(keepingCapacity: runCount <= 1_024)
    runCount = 0
    guard case .running(hasNews: true) = state else {
      state = .resting
      (self.thread, current) = (nil, nil)
      return .rest
    }
    state = .running(hasNews: false)
    return .deliver
  }
}
