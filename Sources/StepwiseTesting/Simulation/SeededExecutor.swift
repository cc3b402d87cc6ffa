// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import Synchronization

/// A task executor that runs all its jobs on one thread, in an order that a scheduler decides.
///
/// Priorities are ignored. Child tasks, default actors, and tasks made with this executor as their preference run on
/// it. The jobs of one actor keep the order in which they arrived, and several may run in one turn: the runtime decides
/// that.
///
/// With a manual clock, time is virtual: when nothing is ready, the clock moves to its next deadline.
///
/// What runs elsewhere is outside the simulation: actors with a custom executor (the main actor among them), other
/// threads, other clocks. A job that comes back from there is run if the simulation still runs, else by the next run.
package final class SeededExecutor: TaskExecutor {
  /// A value that only the main queue has: on Linux the main actor is not always on the main thread.
  private static let mainQueueKey: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// How many seconds a run waits for the main actor each time: a test may block it.
  private static let mainActorPatience: TimeInterval = 60

  private let clock: ManualClock?
  /// How many seconds a run with nothing to do waits for a job from outside.
  private let patience: TimeInterval
  /// Whether time stands still while a job is on its way to the main actor; the caller must not block the main thread.
  private let waitsForMainActor: Bool
  private let state: Lock<SeededExecutorState>
  private let thread = Lock<UInt?>(nil)
  private let arrival = NSCondition()

  package convenience init(seed: UInt64, clock: ManualClock? = nil) {
    self.init(.uniform(SeededGenerator(seed: seed)), clock: clock)
  }

  init(
    _ policy: Scheduler.Policy,
    clock: ManualClock?,
    patience: TimeInterval = 0,
    waitsForMainActor: Bool = false
  ) {
    self.clock = clock
    self.patience = patience
    self.waitsForMainActor = waitsForMainActor
    _ = Self.mainQueueKey
    state = Lock(SeededExecutorState(Scheduler(policy)))
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    whileRetained {
      let isForeign = thread.withLock { $0.map { $0 != Platform.currentThread } ?? false }
      guard isForeign else { return accept(job) }
      accept(job, backFrom: DispatchQueue.getSpecific(key: Self.mainQueueKey) == true ? .mainActor : .outside)
      wake()
    }
  }

  /// Takes over a job, which may come back from outside, or have been about to leave for the global executor.
  func accept(_ job: UnownedJob, backFrom place: SimulationEscape.Destination? = nil) {
    state.withLock { state in
      if let place { state.escaped(to: place) }
      state.enqueue(job, of: job.taskNumber)
    }
  }

  private func wake() {
    arrival.lock()
    arrival.signal()
    arrival.unlock()
  }

  func note(_ text: String) {
    state.withLock { $0.note(text) }
  }

  /// What is known of the run so far.
  var report: SeededExecutorState { state.withLock { $0 } }

  /// Runs the body as a task, and all that it starts, on the calling thread, which it blocks.
  ///
  /// It returns when the body has returned and nothing more is ready. Tasks left behind that are ready have then run to
  /// their end; time does not pass for those that sleep on the clock. A further `run` continues with the same
  /// generator. Cancellation of the calling task is not passed on. A body that never stops making jobs never completes.
  /// - Throws: The error of the body; `SimulationError.stalled`, after cancelling the body and running what that made
  ///   ready, when the body waits and nothing can resume it.
  package func run<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
    try drive(start(body)).get()
  }

  /// A body that was started: its task, and its result as soon as it has one.
  typealias Started<Value: Sendable> = (task: Task<Void, Never>, result: Once<Result<Value, any Error>>)

  /// Makes a task of the body, which is ready to run.
  func start<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) -> Started<Value> {
    let result = Once<Result<Value, any Error>>()
    let task = Task(executorPreference: self) {
      do { result.settle(.success(try await body())) } catch { result.settle(.failure(error)) }
    }
    return (task, result)
  }

  /// Runs ready jobs on the calling thread, and moves the clock, until nothing is left to do.
  func drive<Value>(_ body: Started<Value>, beforeStep: () -> Void = {}) -> Result<Value, any Error> {
    let other = thread.withLock { exchange(&$0, with: Platform.currentThread) }
    precondition(other == nil, "The executor is already running a body.")
    defer { thread.withLock { $0 = nil } }
    while true {
      runReadyJobs(beforeStep)
      if let result = body.result.settled { return result }
      if waitsForMainActor, mainActorBringsJobs() { continue }
      if let clock, clock.advanceToNextDeadline() {
        let now = clock.now
        state.withLock { $0.advanced(to: now) }
      } else {
        wait(atMost: patience) { $0.hasReadyJobs }
        if !state.withLock({ $0.hasReadyJobs }) { break }
      }
    }
    body.task.cancel()
    runReadyJobs {}
    return .failure(SimulationError.stalled)
  }

  private func runReadyJobs(_ beforeStep: () -> Void) {
    while state.withLock({ $0.hasReadyJobs }) {
      beforeStep()
      state.withLock { $0.next() }.runSynchronously(on: asUnownedTaskExecutor())
    }
  }

  /// Waits until the main actor has run all that was on its way there, and returns whether a job has come back.
  ///
  /// Its queue is first in, first out, so what was sent there before has run when a further block runs.
  private func mainActorBringsJobs() -> Bool {
    let isReached = Lock(false)
    DispatchQueue.main.async {
      isReached.withLock { $0 = true }
      self.wake()
    }
    wait(atMost: Self.mainActorPatience) { $0.hasReadyJobs || isReached.withLock { $0 } }
    return state.withLock { $0.hasReadyJobs }
  }

  /// Waits for another thread until the condition holds, at most as many seconds as given.
  private func wait(atMost seconds: TimeInterval, until condition: (SeededExecutorState) -> Bool) {
    guard seconds > 0 else { return }
    let deadline = Date(timeIntervalSinceNow: seconds)
    arrival.lock()
    defer { arrival.unlock() }
    while !state.withLock({ condition($0) }) {
      guard arrival.wait(until: deadline) else { return }
    }
  }
}

extension UnownedJob {
  /// The runtime's number of the job's task; nil for the job of an actor.
  fileprivate var taskNumber: UInt64? {
    // The description is the only public form of it: "UnownedJob(id: 7)".
    UInt64(description.drop { !$0.isNumber }.prefix { $0.isNumber })
  }
}

/// What a seeded executor knows, as a pure value: the jobs that are ready, who chooses among them, and what ran.
struct SeededExecutorState: Sendable {
  private struct Ready: Sendable {
    let job: UnownedJob
    /// The number of its task in the order in which the simulation saw them; for a job of an actor, of the task that
    /// called it.
    let task: Int?
  }

  private var ready: [Ready] = []
  private var numbers: [UInt64: Int] = [:]
  private var running: Int?
  private(set) var scheduler: Scheduler
  private(set) var trace = SimulationTrace()
  private(set) var escapes: [SimulationEscape.Destination: Int] = [:]
  /// The number of jobs that ran.
  private(set) var steps = 0

  init(_ scheduler: Scheduler) {
    self.scheduler = scheduler
  }

  /// Adds a ready job of a task, or of an actor when the task is nil.
  mutating func enqueue(_ job: UnownedJob, of task: UInt64?) {
    ready.append(Ready(job: job, task: task.map { number(of: $0) } ?? running))
  }

  private mutating func number(of task: UInt64) -> Int {
    if let known = numbers[task] { return known }
    numbers[task] = numbers.count + 1
    return numbers.count
  }

  /// Removes the ready job that runs next; there is at least one.
  mutating func next() -> UnownedJob {
    let chosen = ready.remove(at: scheduler.choose(among: ready.map(\.task)))
    steps += 1
    running = chosen.task
    let name = SimulationTrace.name(chosen.task)
    trace.append(ready.isEmpty ? name : "\(name), one of \(ready.count + 1) ready")
    return chosen.job
  }

  mutating func advanced(to instant: ManualClock.Instant) {
    trace.append("the clock moves to \(instant.offset)")
  }

  mutating func note(_ text: String) {
    trace.append("  \(SimulationTrace.name(running)): \(text)")
  }

  mutating func escaped(to destination: SimulationEscape.Destination) { escapes[destination, default: 0] += 1 }

  var hasReadyJobs: Bool { !ready.isEmpty }

  /// Whether a job has come back from outside.
  var hasComeBack: Bool { escapes[.outside] != nil }
}

/// Returns to the simulation the jobs that its thread sends to the global executor.
///
/// The runtime calls `swift_task_enqueueGlobal_hook`, a variable of its binary interface, for each such job. It is
/// looked up by name: where it is missing, that work leaves the simulation. The hook applies to the whole process and
/// passes on everything that no simulation's thread enqueued.
enum GlobalExecutorHook {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void

  /// The simulations that are running, by their thread.
  private static let simulations = Lock<[UInt: SeededExecutor]>([:])
  /// Lets the hook pass on at once when no simulation is running.
  private static let count = Atomic<Int>(0)

  /// Calls the body with the executor known as the simulation of the calling thread.
  static func observing<Result>(_ executor: SeededExecutor, _ body: () throws -> Result) rethrows -> Result {
    install
    let thread = Platform.currentThread
    simulations.withLock { $0[thread] = executor }
    count.add(1, ordering: .sequentiallyConsistent)
    defer {
      count.subtract(1, ordering: .sequentiallyConsistent)
      _ = simulations.withLock { $0.removeValue(forKey: thread) }
    }
    return try body()
  }

  /// The simulation of the calling thread.
  static var simulation: SeededExecutor? {
    guard count.load(ordering: .relaxed) > 0 else { return nil }
    let thread = Platform.currentThread
    return simulations.withLock { $0[thread] }
  }

  /// Installs the hook, once.
  ///
  /// One that was installed before is replaced, as the runtime has room for one.
  private static let install: Void = {
    let enqueue: EnqueueHook = { job, original in
      guard let simulation = GlobalExecutorHook.simulation else { return original(job) }
      simulation.accept(job, backFrom: .globalExecutor)
    }
    guard let variable = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else { return }
    variable.assumingMemoryBound(to: EnqueueHook?.self).pointee = enqueue
  }()
}

extension TaskExecutor {
  /// Retains the executor while the body runs.
  ///
  /// `enqueue` needs this for everything that it does after it has handed over the job: the runtime does not retain an
  /// executor, and the job may release what does. `withExtendedLifetime` relies on the caller's reference.
  func whileRetained(_ body: () -> Void) {
    let reference = Unmanaged.passRetained(self)
    defer { reference.release() }
    body()
  }
}
