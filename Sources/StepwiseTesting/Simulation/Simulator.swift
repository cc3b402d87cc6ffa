// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// Runs one body under many schedules.
final class Simulator<Value: Sendable>: Sendable {
  /// How many seconds a simulation that has nothing to do waits for work that may come back from outside.
  ///
  /// A deadlock is reported after that time, and an answer that takes longer on a busy machine is taken for a deadlock.
  private static var patience: Double { 5 }
  /// How often a schedule has to fail again before the failure is called reproducible.
  private static var repetitions: Int { 5 }
  /// How many schedules are tried to shorten one under which the simulation stalls, if each such trial takes that long.
  private static var maxSlowReplays: Int { 10 }

  struct Attempt: Sendable {
    let result: Result<Value, any Error>
    let report: SeededExecutorState

    var schedule: Schedule { report.scheduler.schedule }
    var escapes: [SimulationEscape] { SimulationEscape.list(of: report.escapes) }

    var error: (any Error)? {
      if case .failure(let error) = result { error } else { nil }
    }
  }

  private let body: @Sendable (ManualClock) async throws -> Value
  /// Whether a job of the body ever came back from outside: then it is worth waiting for one.
  private let hasComeBack: Lock<Bool>

  init(comesBack: Bool = false, body: @escaping @Sendable (ManualClock) async throws -> Value) {
    self.body = body
    hasComeBack = Lock(comesBack)
  }

  var comesBack: Bool { hasComeBack.withLock { $0 } }

  /// Runs the body once, on a separate thread.
  ///
  /// The body inherits the calling task's task-locals.
  ///
  /// - Parameters:
  ///   - policy: Chooses among the tasks.
  ///   - isFirst: Whether to wait for jobs from outside although none has come yet.
  ///   - beforeStep: Called on the simulation's thread before each job.
  /// - Returns: What happened.
  func attempt(
    _ policy: Scheduler.Policy,
    isFirst: Bool = false,
    beforeStep: @escaping @Sendable () -> Void = {}
  ) async -> Attempt {
    let clock = ManualClock()
    let waits = isFirst || comesBack
    let executor = SeededExecutor(
      policy,
      clock: clock,
      patience: waits ? Self.patience : 0,
      waitsForMainActor: true
    )
    let started = executor.start { [body] in try await body(clock) }
    let result = await onThread {
      GlobalExecutorHook.observing(executor) { executor.drive(started, beforeStep: beforeStep) }
    }
    let report = executor.report
    if report.hasComeBack { hasComeBack.withLock { $0 = true } }
    return Attempt(result: result, report: report)
  }

  /// Replaces a length that was left open by the number of steps of one run.
  func measured(_ scheduling: Scheduling) async -> Scheduling {
    guard case .pct(let depth, nil) = scheduling.kind else { return scheduling }
    return .pct(depth: depth, length: max(await attempt(.steady, isFirst: true).report.steps, 1))
  }

  private func onThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: work()) }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }
}

/// Where a simulation was called.
struct SimulationCaller: Sendable {
  let fileID: String
  let filePath: String
  let line: Int
  let column: Int
}

extension Simulator {
  /// The report of an attempt that failed, after its schedule was shortened if a seed chose it.
  func failure(
    of attempt: Attempt,
    seed: UInt64?,
    _ scheduling: Scheduling,
    at caller: SimulationCaller
  ) async -> SimulationFailure {
    func fails(_ schedule: Schedule) async -> Attempt? {
      let again = await self.attempt(.replay(schedule))
      guard let error = again.error, let first = attempt.error, type(of: error) == type(of: first),
        (error as? SimulationError == .stalled) == (first as? SimulationError == .stalled)
      else { return nil }
      return again
    }
    /// A failure that depends on more than the schedule often repeats once.
    func failsEachTime(_ schedule: Schedule) async -> Attempt? {
      var last: Attempt?
      for _ in 0..<Self.repetitions {
        last = await fails(schedule)
        if last == nil { return nil }
      }
      return last
    }
    var last = attempt
    let isReproducible = await failsEachTime(attempt.schedule) != nil
    if isReproducible {
      let isSlow = comesBack && attempt.error as? SimulationError == .stalled
      let budget = isSlow ? Self.maxSlowReplays : 2_000
      if seed != nil {
        let shortest = await shortened(attempt.schedule, budget: budget) { await fails($0) != nil }
        // A shorter one may have failed by chance; the first one did not.
        last = await failsEachTime(shortest) ?? attempt
      }
    }
    return SimulationFailure(
      seed: seed,
      scheduling: scheduling,
      error: last.error ?? SimulationError.stalled,
      schedule: last.schedule.description,
      decisionCounts: (last.schedule.choices.count, attempt.schedule.choices.count),
      isReproducible: isReproducible,
      trace: last.report.trace,
      escapes: last.escapes,
      fileID: caller.fileID,
      filePath: caller.filePath,
      line: caller.line,
      column: caller.column
    )
  }
}

/// Returns a short schedule that still fails, by delta debugging over the choices of one that fails.
///
/// Ever smaller parts are left out, down to single choices, as in A. Zeller, R. Hildebrandt, "Simplifying and Isolating
/// Failure-Inducing Input", IEEE Transactions on Software Engineering 28(2), 2002. Afterwards each choice that is left
/// is moved towards the oldest job where the schedule still fails.
///
/// - Parameters:
///   - schedule: A schedule that fails.
///   - budget: How many schedules may be tried.
///   - fails: Runs the simulation with a schedule and tells whether it failed.
/// - Returns: A schedule that fails.
private func shortened(_ schedule: Schedule, budget: Int, fails: (Schedule) async -> Bool) async -> Schedule {
  var budget = budget
  func test(_ choices: [Schedule.Choice]) async -> Bool {
    guard budget > 0 else { return false }
    budget -= 1
    return await fails(Schedule(choices: choices))
  }
  if await test([]) { return Schedule() }
  var best = schedule.choices
  var size = best.count / 2
  while size > 0, budget > 0 {
    var (start, isShorter) = (0, false)
    while start < best.count {
      let rest = Array(best[..<start] + best[min(start + size, best.count)...])
      if await test(rest) { (best, isShorter) = (rest, true) } else { start += size }
    }
    if size > 1 || !isShorter { size /= 2 }
  }
  for (position, choice) in best.enumerated() {
    for index in 0..<choice.index {
      var candidate = best
      candidate[position] = Schedule.Choice(decision: choice.decision, index: index)
      if await test(candidate) {
        best = candidate
        break
      }
    }
  }
  return Schedule(choices: best)
}
