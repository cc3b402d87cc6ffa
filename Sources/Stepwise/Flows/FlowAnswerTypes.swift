// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Which step of a flow has which type of answer: what a decoder needs for a ``FlowLog``.
public struct FlowAnswerTypes: Sendable {
  let byName: [String: FlowAnswerType]
}

/// How the answers of one step are decoded.
struct FlowAnswerType: Sendable {
  let isVoid: Bool
  let decode: (@Sendable (any Decoder) throws -> any AnyFlowBox)?

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
}
