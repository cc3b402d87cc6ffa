// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The result type of each step of a flow, which a decoder needs for a ``FlowLog``.
public struct FlowAnswerTypes: Sendable {
  let byName: [String: any Sendable.Type]
}

extension FlowEnd {
  /// Decodes the answer of a step.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` for an answer of another shape; ``FlowError/notCodable``.
  static func answered<Answer: Sendable>(
    by step: String,
    as type: Answer.Type,
    from decoder: any Decoder
  ) throws(FlowError) -> FlowEnd {
    if let nothing = () as? Answer { return .answered(Box(nothing)) }
    guard let type = type as? any Decodable.Type else { throw FlowError(.notCodable, step: step) }
    do {
      guard let answer = try type.init(from: decoder) as? Answer else { throw FlowError(.wrongAnswer, step: step) }
      return .answered(Box(answer))
    } catch {
      throw FlowError(.wrongAnswer, step: step, detail: "\(error)")
    }
  }
}
