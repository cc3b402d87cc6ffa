// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A task executor that runs all its jobs on one thread, in an order that a seed decides.
///
/// Each time, one of the jobs that are ready is picked at random: another seed gives another interleaving of the tasks,
/// the same seed the same one again. Priorities are ignored. Child tasks, default actors, and tasks made with this
/// executor as their preference run on it. What waits for one actor keeps the order in which it came there, and may run
/// in one turn: so the runtime does it.
///
/// With a manual clock, time is virtual: when nothing is ready, the clock moves to its next deadline.
///
/// What runs elsewhere is outside the simulation: `Task { }` and `Task.detached` without the preference, actors with an
/// executor of their own (the main actor among them), other threads, other clocks. Nothing waits for it: a body that
/// depends on it stalls, or not, as the threads happen to run. A job that comes back from there is safe: it is run if
/// the simulation is still going, else by the next `run`.
package final class SeededExecutor: TaskExecutor {
  private let seed: UInt64
  private let clock: ManualClock?
  private let state: Lock<SeededExecutorState<UnownedJob>>

  package init(seed: UInt64, clock: ManualClock? = nil) {
    self.seed = seed
    self.clock = clock
    state = Lock(SeededExecutorState(seed: seed))
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.enqueue(job) }
  }

  /// Runs the body as a task, and all that it sets going, on the calling thread, which it blocks.
  ///
  /// It returns when the body has ended and nothing more is ready. Tasks left behind that are ready have then run to
  /// their end; time does not pass for those that sleep on the clock. A further `run` goes on with the same dice.
  /// Cancellation of the calling task is not passed on. A body that never stops making jobs is never done.
  /// - Throws: The error of the body; `SimulationError.stalled`, after cancelling the body and running what that made
  ///   ready, when the body waits and nothing can wake it; `SimulationError.busy` when called during another `run`.
  package func run<T: Sendable>(_ body: @escaping @Sendable () async throws -> T) throws -> T {
    guard state.withLock({ $0.begin() }) else { throw SimulationError.busy(seed: seed) }
    defer { state.withLock { $0.end() } }
    let result = Watched<Result<T, any Error>?>(nil)
    let task = Task(executorPreference: self) {
      let outcome: Result<T, any Error>
      do {
        outcome = .success(try await body())
      } catch {
        outcome = .failure(error)
      }
      result.mutate { $0 = outcome }
    }
    while true {
      runReadyJobs()
      if let outcome = result.read({ $0 }) { return try outcome.get() }
      if clock?.advanceToNextDeadline() != true { break }
    }
    task.cancel()
    runReadyJobs()
    throw SimulationError.stalled(seed: seed)
  }

  private func runReadyJobs() {
    while let job = state.withLock({ $0.next() }) {
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
