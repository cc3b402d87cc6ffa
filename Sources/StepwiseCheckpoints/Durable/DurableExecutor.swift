// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The executor of the code between the steps of one durable run.
///
/// It runs one job after another, in the order in which they were enqueued, but those of one task together: a runtime may
/// cut the same code into more jobs than another one. So the code takes the same path in each run, if what it waits for
/// arrives in the same order. That is why arrivals, such as the end of a step, are delivered one at a time, each when the
/// executor is idle: when all of the code waits.
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
    let name = Self.name(of: job)
    if machine.withLock({ $0.enqueue(job, name, on: thread) }) { start() }
  }

  /// The running code leaves the executor, and goes on as soon as it returns.
  func depart() { machine.withLock { $0.depart() } }

  /// Whether the running code is here, in a job of its task.
  ///
  /// An actor that something else had occupied goes on with it in a job of its own, also on another thread, and the code
  /// stays there when it leaves the actor, although its task prefers this executor.
  var isCurrent: Bool {
    let thread = Platform.currentThread
    return machine.withLock { $0.isRunningTask(on: thread) }
  }

  /// The number of the running task.
  var task: Int { machine.withLock { $0.task } ?? 0 }

  /// Something may have arrived.
  func notify() {
    if machine.withLock({ $0.notify() }) { start() }
  }

  /// The tasks that have returned from elsewhere and are held, in their order.
  var held: [Int] { machine.withLock { $0.held } }

  /// A task that is held goes on.
  func admit(_ task: Int) {
    if machine.withLock({ $0.admit(task) }) { start() }
  }

  /// From now on, no code is held: its order does not matter.
  func free() {
    if machine.withLock({ $0.free() }) { start() }
  }

  /// Tells the jobs of one task from those of others; nil for a job of an actor.
  private static func name(of job: UnownedJob) -> String? {
    let name = "\(job)"
    return name.hasSuffix("nil)") ? nil : name
  }

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

  private struct Entry {
    let job: Job
    let name: String?
    /// Whether an actor of the code, which something else had occupied, has been left to this executor.
    var isOfOccupiedActor = false
  }

  /// How many jobs of one task run together: one that yields until another has done something must let that run.
  private static var maxGroup: Int { 100 }

  private var state = State.resting
  private var jobs: [Entry] = []
  /// The next job of the task that runs.
  private var continuing: Entry?
  /// How many jobs of the task have run together.
  private var groupCount = 0
  /// The number of jobs at the beginning of the array that have run.
  private var runCount = 0
  /// The thread that runs the jobs.
  private var thread: UInt?
  /// The name of the job that runs.
  private var current: String?
  /// Whether the job that runs is that of an actor which something else had occupied: what it resumes comes from elsewhere.
  private var isInOccupiedActor = false
  private var heldJobs: [Entry] = []
  /// The tasks that are held, in their order.
  private(set) var held: [Int] = []
  /// The names of the jobs that left the executor and return to go on.
  private var away: Set<String> = []
  /// The numbers of the tasks, in the order in which they begin.
  private var numbers: [String: Int] = [:]
  /// Whether jobs from elsewhere are held; the first job begins the code.
  private var holds = false
  private var isFree = false

  /// The number of jobs in memory.
  var count: Int { jobs.count }

  /// The number of the task that runs.
  var task: Int? { current.flatMap { numbers[$0] } }

  /// Adds a job, or holds one that comes from elsewhere; returns whether the executor has to start.
  mutating func enqueue(_ job: Job, _ name: String?, on thread: UInt) -> Bool {
    let isHere = self.thread == thread
    let entry = Entry(job: job, name: name, isOfOccupiedActor: name == nil && !isHere)
    if isHere, continuing == nil, name != nil, name == current, groupCount < Self.maxGroup {
      continuing = entry
      return false
    }
    guard let name, holds, !isFree, !isHere || isInOccupiedActor, away.remove(name) == nil else {
      holds = true
      return add(entry)
    }
    heldJobs.append(entry)
    held.append(number(name))
    return notify()
  }

  private mutating func add(_ entry: Entry) -> Bool {
    jobs.append(entry)
    guard case .resting = state else { return false }
    state = .running(hasNews: false)
    return true
  }

  @discardableResult
  private mutating func number(_ name: String) -> Int {
    let number = numbers[name] ?? numbers.count
    numbers[name] = number
    return number
  }

  /// Whether a job of a task runs on a thread.
  func isRunningTask(on thread: UInt) -> Bool { self.thread == thread && current != nil }

  mutating func depart() { if let current { away.insert(current) } }

  mutating func admit(_ task: Int) -> Bool {
    guard let index = held.firstIndex(of: task) else { return false }
    held.remove(at: index)
    return add(heldJobs.remove(at: index))
  }

  mutating func free() -> Bool {
    (isFree, held) = (true, [])
    var starts = false
    for entry in exchange(&heldJobs, with: []) where add(entry) { starts = true }
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
    if let entry = continuing.take() {
      groupCount += 1
      return .run(entry.job)
    }
    if runCount < jobs.count {
      let entry = jobs[runCount]
      runCount += 1
      // Tasks that yield to each other never leave it without a job.
      if runCount > 1_024, 2 * runCount > jobs.count {
        jobs.removeFirst(runCount)
        runCount = 0
      }
      if let name = entry.name { number(name) }
      (current, isInOccupiedActor, groupCount) = (entry.name, entry.isOfOccupiedActor, 1)
      return .run(entry.job)
    }
    jobs.removeAll(keepingCapacity: runCount <= 1_024)
    runCount = 0
    guard case .running(hasNews: true) = state else {
      state = .resting
      (self.thread, current, isInOccupiedActor) = (nil, nil, false)
      return .rest
    }
    (state, groupCount) = (.running(hasNews: false), 0)
    return .deliver
  }
}
