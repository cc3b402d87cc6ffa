// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs a closure once for each seed, each time with its tasks in another order, and reports the first seed that fails.
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
    let attempt = await simulator.attempt(simulator.scheduler(seed: seed, scheduling), isFirst: true)
    if attempt.error != nil {
      throw await simulator.failure(of: attempt, seed: seed, scheduling, at: caller)
    }
    for escape in attempt.escapes { escapes[escape.destination, default: 0] += escape.count }
  }
  return escapes.map { SimulationEscape(destination: $0.key, count: $0.value) }
    .sorted { $0.destination.description < $1.destination.description }
}
