// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A guarantee that a chain violated when it was cancelled, or failed, at one of its points.
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
