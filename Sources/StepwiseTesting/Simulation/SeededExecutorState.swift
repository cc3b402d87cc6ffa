// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a seeded executor knows, as a pure value: the jobs that are ready, who chooses among them, and what ran.
struct SeededExecutorState<Job: Sendable>: Sendable {
  private struct Ready: Sendable {
    let job: Job
    /// The number of its task in the order in which the simulation saw them; for a job of an actor, of the task that
    /// called it.
    let task: Int?
  }

  private var ready: [Ready] = []
  private var numbers: [UInt64: Int] = [:]
  private var running: Int?
  private var isRunning = false
  /// Whether the latest run ended because nothing could resume its body.
  private(set) var isStalled = false
  private(set) var scheduler: Scheduler
  private(set) var trace = SimulationTrace()
  private(set) var escapes: [SimulationEscape] = []
  /// The number of jobs that ran.
  private(set) var steps = 0

  init(_ scheduler: Scheduler) {
    self.scheduler = scheduler
  }

  /// Reserves the executor for one run, or returns false when it is in use.
  mutating func begin() -> Bool {
    guard !isRunning else { return false }
    isRunning = true
    isStalled = false
    return true
  }

  mutating func stalled() {
    isStalled = true
  }

  /// Releases the executor.
  mutating func end() {
    isRunning = false
  }

  /// Adds a ready job of a task, or of an actor when the task is nil.
  mutating func enqueue(_ job: Job, of task: UInt64? = nil) {
    ready.append(Ready(job: job, task: task.map { number(of: $0) } ?? running))
  }

  private mutating func number(of task: UInt64) -> Int {
    if let known = numbers[task] { return known }
    numbers[task] = numbers.count + 1
    return numbers.count
  }

  /// Removes the ready job that runs next.
  mutating func next() -> Job? {
    guard !ready.isEmpty else {
      running = nil
      return nil
    }
    let chosen = ready.remove(at: scheduler.choose(among: ready.map(\.task)))
    steps += 1
    running = chosen.task
    trace.append(.ran(task: chosen.task, ready: ready.count + 1))
    return chosen.job
  }

  mutating func advanced(to instant: ManualClock.Instant) {
    trace.append(.advanced(to: instant))
  }

  mutating func note(_ text: String) {
    trace.append(.note(text, task: running))
  }

  mutating func escaped(to destination: SimulationEscape.Destination) {
    if let index = escapes.firstIndex(where: { $0.destination == destination }) {
      escapes[index].count += 1
    } else {
      escapes.append(SimulationEscape(destination: destination, count: 1))
    }
  }

  var hasReadyJobs: Bool { !ready.isEmpty }
}
