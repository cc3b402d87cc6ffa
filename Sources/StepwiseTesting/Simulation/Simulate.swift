// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs a closure on one thread, in an order of its tasks that a seed decides, with a virtual clock.
///
/// Tasks, task groups, `async let`, actors and chains that the closure starts run in the simulation. The same seed runs
/// them in the same order on every machine, unless something escapes the simulation. Time passes only when nothing is
/// ready: then the clock moves to its next deadline.
///
/// Unlike ``explore(seeds:scheduling:fileID:filePath:line:column:_:)``, this tries one order. Repeat a seed that failed
/// with it. The calling task is suspended until the closure has returned and no task is ready; cancellation of the
/// calling task is not passed on. A closure that never stops making tasks ready never completes.
///
/// - Parameters:
///   - seed: Decides the order.
///   - scheduling: How tasks are chosen.
///   - fileID: The file that a report names, as `#fileID`.
///   - filePath: The file that a report names, as `#filePath`.
///   - line: The line that a report names.
///   - column: The column that a report names.
///   - body: Receives the simulation's clock. It is called again, from scratch, to shorten a schedule that fails, so it
///     must create all the state that it changes.
/// - Returns: What the closure returned, what ran, and what escaped the simulation.
/// - Throws: ``SimulationFailure`` when the closure throws, or waits for something that never comes. Work that escapes
///   the simulation is not an error.
@discardableResult
public nonisolated(nonsending) func simulate<Value: Sendable>(
  seed: UInt64,
  scheduling: Scheduling = .uniform,
  fileID: String = #fileID,
  filePath: String = #filePath,
  line: Int = #line,
  column: Int = #column,
  _ body: @escaping @Sendable (ManualClock) async throws -> Value
) async throws -> SimulationRun<Value> {
  let simulator = Simulator(body: body)
  let scheduling = await simulator.measured(scheduling)
  let attempt = await simulator.attempt(scheduling.policy(seed: seed), isFirst: true)
  let caller = SimulationCaller(fileID: fileID, filePath: filePath, line: line, column: column)
  return try await simulator.finished(attempt, seed: seed, scheduling, at: caller)
}

/// Runs a closure as ``simulate(seed:scheduling:fileID:filePath:line:column:_:)`` does, in the order that a report
/// printed.
///
/// - Parameters:
///   - schedule: The text that the report of a failure shows. Decisions that it does not name let a task
///     run as long as it is ready, so the empty text is the plain order.
///   - fileID: The file that a report names, as `#fileID`.
///   - filePath: The file that a report names, as `#filePath`.
///   - line: The line that a report names.
///   - column: The column that a report names.
///   - body: Receives the simulation's clock.
/// - Returns: What the closure returned, what ran, and what escaped the simulation.
/// - Throws: ``SimulationFailure`` as for a seed; ``SimulationError/invalidSchedule(_:)`` when the text is not a
///   schedule.
@discardableResult
public nonisolated(nonsending) func simulate<Value: Sendable>(
  schedule: String,
  fileID: String = #fileID,
  filePath: String = #filePath,
  line: Int = #line,
  column: Int = #column,
  _ body: @escaping @Sendable (ManualClock) async throws -> Value
) async throws -> SimulationRun<Value> {
  let simulator = Simulator(body: body)
  let attempt = await simulator.attempt(.replay(try Schedule(parsing: schedule)), isFirst: true)
  let caller = SimulationCaller(fileID: fileID, filePath: filePath, line: line, column: column)
  return try await simulator.finished(attempt, seed: nil, .uniform, at: caller)
}

extension Simulator {
  /// The result of an attempt, or its failure, shortened when it has a seed.
  fileprivate nonisolated(nonsending) func finished(
    _ attempt: Attempt,
    seed: UInt64?,
    _ scheduling: Scheduling,
    at caller: SimulationCaller
  ) async throws -> SimulationRun<Value> {
    guard case .success(let value) = attempt.result else {
      throw await failure(of: attempt, seed: seed, scheduling, at: caller)
    }
    return SimulationRun(
      value: value,
      trace: attempt.report.trace,
      schedule: attempt.schedule.description,
      escapes: attempt.escapes
    )
  }
}

/// Runs a closure once for each seed, each time with its tasks in another order, and reports the first seed that fails.
///
/// Use it to find races in your actors and tasks.
///
/// ```swift
/// try await explore(seeds: 0..<1_000) { clock in
///   let account = Account(balance: 100)
///   async let first: Void = account.withdraw(80)
///   async let second: Void = account.withdraw(80)
///   _ = try await (first, second)
///   try require(await account.balance >= 0, "overdrawn")
/// }
/// ```
///
/// A seed that fails is run again with ever fewer changes of order, until none can be left out. The error names the
/// seed and that shortest schedule, and shows what ran. Repeat it with
/// ``simulate(schedule:fileID:filePath:line:column:_:)``.
///
/// See ``simulate(seed:scheduling:fileID:filePath:line:column:_:)`` for what runs in the simulation. When the calling
/// task is cancelled, no further seed is tried.
///
/// - Parameters:
///   - seeds: The seeds to try, in order.
///   - scheduling: How tasks are chosen.
///   - fileID: The file that a report names, as `#fileID`.
///   - filePath: The file that a report names, as `#filePath`.
///   - line: The line that a report names.
///   - column: The column that a report names.
///   - body: Receives the simulation's clock; called each time, so it must create all the state that it changes.
/// - Returns: What escaped the simulation, over all seeds. If that is not empty, a seed does not decide the order.
/// - Throws: ``SimulationFailure`` for the first seed that fails; `CancellationError` when the task is cancelled.
@discardableResult
public nonisolated(nonsending) func explore(
  seeds: Range<UInt64>,
  scheduling: Scheduling = .uniform,
  fileID: String = #fileID,
  filePath: String = #filePath,
  line: Int = #line,
  column: Int = #column,
  _ body: @escaping @Sendable (ManualClock) async throws -> Void
) async throws -> [SimulationEscape] {
  let simulator = Simulator(body: body)
  let scheduling = await simulator.measured(scheduling)
  let caller = SimulationCaller(fileID: fileID, filePath: filePath, line: line, column: column)
  var escapes: [SimulationEscape.Destination: Int] = [:]
  for seed in seeds {
    try Task.checkCancellation()
    let attempt = await simulator.attempt(scheduling.policy(seed: seed), isFirst: true)
    if attempt.error != nil {
      throw await simulator.failure(of: attempt, seed: seed, scheduling, at: caller)
    }
    escapes.merge(attempt.report.escapes, uniquingKeysWith: +)
  }
  return SimulationEscape.list(of: escapes)
}

/// What `simulate` returns: the trace, and what left the simulation.
///
/// If ``escapes`` is not empty, your code left the simulation, and the seed does not decide its order.
public struct SimulationRun<Value: Sendable>: Sendable {
  /// What the body returned.
  public let value: Value
  /// What ran, in order.
  public let trace: SimulationTrace
  /// The schedule, for ``simulate(schedule:fileID:filePath:line:column:_:)``.
  public let schedule: String
  /// What escaped the simulation; the order of that work is not repeatable.
  public let escapes: [SimulationEscape]
}

/// Adds a line to the trace of the simulation in which the calling code runs, with its task; otherwise does nothing.
///
/// Use it to mark what you look for in a long trace.
///
/// - Parameter text: What the report of a failure shows.
public func simulationNote(_ text: @autoclosure () -> String) {
  GlobalExecutorHook.simulation?.note(text())
}
