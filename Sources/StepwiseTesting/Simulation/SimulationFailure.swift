// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A failure that a simulation found: what failed, under which schedule, and what ran.
///
/// The description holds all of it. Test frameworks print it when the error leaves a test. To record it at the caller's
/// line with Swift Testing:
///
/// ```swift
/// do {
///   try await explore(seeds: 0..<1_000) { clock in try await transfer(on: clock) }
/// } catch let failure as SimulationFailure {
///   Issue.record(
///     failure,
///     sourceLocation: SourceLocation(
///       fileID: failure.fileID,
///       filePath: failure.filePath,
///       line: failure.line,
///       column: failure.column
///     )
///   )
/// }
/// ```
public struct SimulationFailure: Error, Sendable {
  /// The seed that failed; nil when the schedule was given.
  public let seed: UInt64?
  /// How tasks were chosen.
  public let scheduling: Scheduling
  /// The error of the body under the schedule, or ``SimulationError/stalled``.
  public let error: any Error
  /// The shortest schedule found that fails, for ``simulate(schedule:fileID:filePath:line:column:_:)``.
  public let schedule: String
  /// The number of decisions in ``schedule``, and in the schedule that failed first.
  public let decisionCounts: (shortest: Int, original: Int)
  /// Whether the schedule failed again when it was repeated.
  ///
  /// If not, something escapes the simulation or the body depends on
  /// something that differs from run to run.
  public let isReproducible: Bool
  /// What ran under the schedule, in order.
  public let trace: SimulationTrace
  /// What escaped the simulation.
  public let escapes: [SimulationEscape]
  /// The caller's file, as `#fileID`.
  public let fileID: String
  /// The caller's file, as `#filePath`.
  public let filePath: String
  /// The caller's line.
  public let line: Int
  /// The caller's column.
  public let column: Int
}

extension SimulationFailure: CustomStringConvertible {
  /// The report: cause, schedule to repeat, trace and escapes.
  public var description: String {
    var lines: [String] = []
    let subject = seed.map { "Seed \($0) (scheduling: \(scheduling))" } ?? "The schedule"
    lines.append("\(subject) fails at \(fileID):\(line): \(error)")
    if isReproducible {
      let count = decisionCounts
      lines.append(
        "Shortest schedule that fails (\(count.shortest) of \(count.original) decisions): simulate(schedule: \"\(schedule)\")"
      )
    } else {
      lines.append("The failure did not repeat under the same schedule: the body depends on more than the schedule.")
    }
    lines.append("What ran:")
    lines += trace.description.split(separator: "\n").map { "  \($0)" }
    if !escapes.isEmpty {
      lines.append("What left the simulation: \(escapes.map(\.description).joined(separator: "; "))")
    }
    return lines.joined(separator: "\n")
  }
}
