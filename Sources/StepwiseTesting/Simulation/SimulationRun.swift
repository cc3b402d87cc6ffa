// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A simulation that completed.
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
/// - Parameter text: What the report of a failure shows.
public func simulationNote(_ text: @autoclosure () -> String) {
  GlobalExecutorHook.simulation?.note(text())
}
