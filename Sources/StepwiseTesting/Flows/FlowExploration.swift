// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a `FlowExplorer` has found.
public struct FlowExploration: Sendable, CustomStringConvertible {
  /// A result after which the flow could not go on.
  public struct Unhandled: Sendable, CustomStringConvertible {
    /// The step whose result it is.
    public let step: String
    /// The result, in words.
    public let result: String
    /// What the flow would fail with.
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

  /// Circles of steps that no supplied answer leads out of.
  public let loops: [[String]]

  /// The results that nobody handled, or that led to a step that cannot be asked.
  public let unhandled: [Unhandled]

  /// Whether every position was looked at, within the limit.
  public let isComplete: Bool

  /// Whether there is nothing to complain of.
  public var isSound: Bool {
    isComplete && unreached.isEmpty && deadEnds.isEmpty && loops.isEmpty && unhandled.isEmpty
  }

  /// The findings, a line each.
  public var description: String {
    var lines = ["reached: \(reached.joined(separator: ", "))"]
    lines += unreached.map { "never reached: \($0)" }
    lines += deadEnds.map { "dead end: \($0)" }
    lines += loops.map { "no way out of: \($0.joined(separator: ", "))" }
    lines += unhandled.map { "not handled: \($0)" }
    if !isComplete { lines.append("not all was looked at") }
    return lines.joined(separator: "\n")
  }
}
