// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The findings of a `FlowExplorer`.
public struct FlowExploration: Sendable, CustomStringConvertible {
  /// A result after which the flow could not continue.
  public struct Unhandled: Sendable, CustomStringConvertible {
    /// The step with this result.
    public let step: String
    /// The description of the result.
    public let result: String
    /// The error that the flow would fail with.
    public let error: any Error

    /// The finding in one line.
    public var description: String { "\(step): \(result): \(error)" }
  }

  /// The steps that were reached, in the order of the flow.
  public let reached: [String]

  /// The steps of the flow that no supplied answer leads to.
  public let unreached: [String]

  /// The steps that were reached and that no supplied answer leads away from.
  public let deadEnds: [String]

  /// Cycles of steps that no supplied answer leads out of.
  public let loops: [[String]]

  /// The results without a rule, or with a rule that leads to a step that cannot be presented.
  public let unhandled: [Unhandled]

  /// A Boolean value that indicates whether every position was visited, within the limit.
  public let isComplete: Bool

  /// A Boolean value that indicates whether there are no findings.
  public var isSound: Bool {
    isComplete && unreached.isEmpty && deadEnds.isEmpty && loops.isEmpty && unhandled.isEmpty
  }

  /// The findings, one per line.
  public var description: String {
    var lines = ["reached: \(reached.joined(separator: ", "))"]
    lines += unreached.map { "never reached: \($0)" }
    lines += deadEnds.map { "dead end: \($0)" }
    lines += loops.map { "no way out of: \($0.joined(separator: ", "))" }
    lines += unhandled.map { "not handled: \($0)" }
    if !isComplete { lines.append("not every position was visited") }
    return lines.joined(separator: "\n")
  }
}
