// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// Cancels a chain at each of its suspension points, and checks that it keeps its guarantees.
///
/// Use this when your chain has undos or a `finally` that must run whenever a user cancels. It runs the chain once without
/// a cancellation and counts its suspension points. Then it runs the chain once for each combination of a suspension
/// point and a source (task, token, handle), cancels there, and checks that
///
/// - the run completes, and a `finally` handler of the whole runs exactly once;
/// - the handlers of the chain that call ``RunProbe/finalized(_:)`` run exactly once and in the same order as without a
///   cancellation;
/// - the handlers of a nested chain do so in every run that is cancelled after the first in which they ran. Until then
///   the nested chain may not have begun, and a handler that no cancellation calls is not found;
/// - what called ``RunProbe/completed(_:)`` and was not resolved is undone once, newest first, before the handlers;
/// - no task that the run started is left suspended, nothing sleeps on the clock, and no tracked object is left.
///
/// Each run is a separate simulation, as with ``simulate(seed:scheduling:fileID:filePath:line:column:_:)``.
///
/// - Parameters:
///   - input: The input of each run.
///   - fileID: The file that a report names, as `#fileID`.
///   - filePath: The file that a report names, as `#filePath`.
///   - line: The line that a report names.
///   - column: The column that a report names.
///   - makeChain: Creates the chain for each run; it and the chain report to the probe.
/// - Returns: The number of runs that were cancelled.
/// - Throws: ``EverywhereFailure`` for the first run that violates a guarantee; the error of `makeChain`. An error or a
///   cancellation of the chain is not a failure.
@discardableResult
public nonisolated(nonsending) func cancelEverywhere<Input: Sendable, Output: Sendable>(
  input: Input,
  fileID: String = #fileID,
  filePath: String = #filePath,
  line: Int = #line,
  column: Int = #column,
  _ makeChain: @escaping @Sendable (RunProbe) async throws -> Chain<Input, Output>
) async throws -> Int {
  let caller = SimulationCaller(fileID: fileID, filePath: filePath, line: line, column: column)
  let trial = EverywhereTrial(input: input, caller: caller, makeChain: makeChain)
  let plain = try await trial.undisturbed()
  var count = 0
  for origin in EverywhereTrial<Input, Output>.Origin.allCases {
    let points = try await trial.pointCount(origin, like: plain)
    count += try await trial.compare((0..<points).map { .cancel(origin, atStep: $0, of: points) }, with: plain)
  }
  return count
}

/// Throws an error at each place that a chain marks, and checks that the chain keeps its guarantees.
///
/// Use this when your chain must clean up after a failure of any step. Each call of ``RunProbe/step(_:)`` in a run
/// without errors is a place. The checks are those of ``cancelEverywhere(input:fileID:filePath:line:column:_:)``. A
/// chain that recovers or retries may still end with a value.
///
/// - Parameters:
///   - input: The input of each run.
///   - fileID: The file that a report names, as `#fileID`.
///   - filePath: The file that a report names, as `#filePath`.
///   - line: The line that a report names.
///   - column: The column that a report names.
///   - makeChain: Creates the chain for each run; it and the chain report to the probe.
/// - Returns: The number of runs with an error.
/// - Throws: ``EverywhereFailure`` for the first run that violates a guarantee; the error of `makeChain`.
@discardableResult
public nonisolated(nonsending) func failEverywhere<Input: Sendable, Output: Sendable>(
  input: Input,
  fileID: String = #fileID,
  filePath: String = #filePath,
  line: Int = #line,
  column: Int = #column,
  _ makeChain: @escaping @Sendable (RunProbe) async throws -> Chain<Input, Output>
) async throws -> Int {
  let caller = SimulationCaller(fileID: fileID, filePath: filePath, line: line, column: column)
  let trial = EverywhereTrial(input: input, caller: caller, makeChain: makeChain)
  let plain = try await trial.undisturbed()
  return try await trial.compare(
    plain.probe.steps.enumerated().map { .fail(step: $0.offset, name: $0.element) },
    with: plain
  )
}

/// A guarantee that a chain violated when it was cancelled, or failed, at one of its points.
///
/// It names the point and the guarantee, to let you repeat that one case.
public struct EverywhereFailure: Error, Sendable {
  /// How the run was interrupted, for example "cancelled by its token at suspension point 3 of 17".
  public let disturbance: String
  /// The violations.
  public let violations: [String]
  /// What ran, in order.
  public let trace: SimulationTrace
  /// The caller's file, as `#fileID`.
  public let fileID: String
  /// The caller's file, as `#filePath`.
  public let filePath: String
  /// The caller's line.
  public let line: Int
  /// The caller's column.
  public let column: Int
}

extension EverywhereFailure: CustomStringConvertible {
  /// The interruption, the violations and the trace.
  public var description: String {
    let violations = violations.map { "  - \($0)" }.joined(separator: "\n")
    let trace = trace.description.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n")
    return "The run at \(fileID):\(line), \(disturbance):\n\(violations)\nWhat ran:\n\(trace)"
  }
}
