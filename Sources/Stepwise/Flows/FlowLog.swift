// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The answers that a flow was given: what it can be replayed from.
///
/// It can be encoded when the results in it are `Encodable`. To decode it a decoder has to know which step has which type:
///
/// ```swift
/// let data = try JSONEncoder().encode(flow.answers)
/// let decoder = JSONDecoder()
/// decoder.userInfo[.flowAnswers] = flow.answerTypes
/// let answers = try decoder.decode(FlowLog.self, from: data)
/// let output = try await flow.replay(answers: answers)
/// ```
public struct FlowLog: Sendable, ExpressibleByArrayLiteral {
  /// The answers, oldest first.
  public var entries: [FlowLogEntry]

  /// Creates a log.
  public init(_ entries: [FlowLogEntry] = []) {
    self.entries = entries
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
