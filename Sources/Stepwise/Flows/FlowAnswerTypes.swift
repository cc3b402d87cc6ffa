// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Which step of a flow has which type of answer: what a decoder needs for a ``FlowLog``.
public struct FlowAnswerTypes: Sendable {
  let byName: [String: FlowAnswerType]
}

/// How the answers of one step are decoded.
struct FlowAnswerType: Sendable {
  private let isVoid: Bool
  private let decode: (@Sendable (any Decoder) throws -> any AnyFlowBox)?

  init<Answer: Sendable>(_ type: Answer.Type) {
    isVoid = type == Void.self
    guard let decodable = type as? any (Decodable & Sendable).Type else {
      decode = nil
      return
    }
    decode = { decoder in
      let answer = try decodable.init(from: decoder)
      guard let answer = answer as? Answer else { throw FlowError(.wrongAnswer, step: "") }
      return FlowBox(answer)
    }
  }

  /// - Throws: ``FlowError/wrongAnswer`` for an answer of another shape; ``FlowError/notCodable``.
  func answer(of step: String, from decoder: () throws -> any Decoder) throws(FlowError) -> any AnyFlowBox {
    if isVoid { return FlowBox(()) }
    guard let decode else { throw FlowError(.notCodable, step: step) }
    do {
      return try decode(try decoder())
    } catch {
      throw FlowError(.wrongAnswer, step: step, detail: "\(error)")
    }
  }
}
