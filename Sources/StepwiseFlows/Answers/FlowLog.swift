// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The answers that a flow received, from which it can be replayed.
///
/// A log also stores the content that each step had when it was answered, and the latest content of each step on the
/// path, so that a replay shows what the user saw. It can be encoded when its results are `Encodable`. A decoder needs
/// the result type of each step:
///
/// ```swift
/// let data = try JSONEncoder().encode(flow.answers)
/// let decoder = JSONDecoder()
/// decoder.userInfo[.flowAnswers] = flow.answerTypes
/// let answers = try decoder.decode(FlowLog.self, from: data)
/// let output = try await flow.replay(answers: answers)
/// ```
public struct FlowLog: Sendable, ExpressibleByArrayLiteral {
  /// The answers, oldest first; the last one may be that of a nested flow in progress, with its answers so far.
  public var entries: [FlowLogEntry]

  /// The latest contents of the steps on the path.
  let contents: [String: FlowContent]

  /// Creates a log.
  public init(_ entries: [FlowLogEntry] = []) {
    self.init(entries, contents: [:])
  }

  init(_ entries: [FlowLogEntry], contents: [String: FlowContent]) {
    self.entries = entries
    self.contents = contents
  }

  /// Creates a log of the answers listed.
  public init(arrayLiteral elements: FlowLogEntry...) {
    self.init(elements)
  }
}

extension FlowLog: RandomAccessCollection {
  /// The position of the first answer.
  public var startIndex: Int { entries.startIndex }
  /// The position after the last answer.
  public var endIndex: Int { entries.endIndex }
  /// The answer at a position.
  public subscript(position: Int) -> FlowLogEntry { entries[position] }
}
