// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The result type of each step of a flow, which a decoder needs for a ``FlowLog``.
public struct FlowAnswerTypes: Sendable {
  let byName: [String: FlowAnswerType]
}

/// How to decode the answers of one step.
struct FlowAnswerType: Sendable {
  /// Nil for answers that cannot be decoded.
  private let decode: (@Sendable (any Decoder) throws -> any AnyBox)?

  init<Answer: Sendable>(_ type: Answer.Type) {
    if let nothing = () as? Answer {
      decode = { _ in Box(nothing) }
    } else if let type = type as? any (Decodable & Sendable).Type {
      decode = { decoder in
        guard let answer = try type.init(from: decoder) as? Answer else { throw FlowError(.wrongAnswer, step: "") }
        return Box(answer)
      }
    } else {
      decode = nil
    }
  }

  /// - Throws: ``FlowError/wrongAnswer`` for an answer of another shape; ``FlowError/notCodable``.
  func answer(of step: String, from decoder: any Decoder) throws(FlowError) -> any AnyBox {
    guard let decode else { throw FlowError(.notCodable, step: step) }
    do {
      return try decode(decoder)
    } catch {
      throw FlowError(.wrongAnswer, step: step, detail: "\(error)")
    }
  }
}
