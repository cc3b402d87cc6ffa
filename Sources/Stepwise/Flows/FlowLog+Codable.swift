// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension CodingUserInfoKey {
  /// Where a decoder finds a flow's ``Flow/answerTypes``, which it needs for a ``FlowLog``.
  public static var flowAnswers: CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: "Stepwise.FlowLog") else {
      // Proof: the initialiser is failable for its protocol's sake alone, and takes every string.
      fatalError("a user info key was refused")
    }
    return key
  }
}

extension FlowLog: Codable {
  private enum Key: String, CodingKey {
    case step, answer, ending, reason
  }

  /// Encodes the answers, each under the name of its step.
  ///
  /// - Throws: ``FlowError/notCodable`` for a result that is not `Encodable`; what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for entry in entries {
      var fields = container.nestedContainer(keyedBy: Key.self)
      try fields.encode(entry.step, forKey: .step)
      switch entry.end {
      case .answered(let box) where box is FlowBox<Void>: try fields.encodeNil(forKey: .answer)
      case .answered(let box):
        guard let answer = box.any as? any Encodable else { throw FlowError(.notCodable, step: entry.step) }
        try answer.encode(to: fields.superEncoder(forKey: .answer))
      case .ended(.back): try fields.encode("back", forKey: .ending)
      case .ended(.abandoned): try fields.encode("abandoned", forKey: .ending)
      case .ended(.cancelled(let cancellation)):
        try fields.encode("cancelled", forKey: .ending)
        try fields.encodeIfPresent(cancellation.reason, forKey: .reason)
      case .ended(.failed(let error)):
        try fields.encode("failed", forKey: .ending)
        try fields.encode(String(describing: error), forKey: .reason)
      }
    }
  }

  /// Decodes answers, with the types that the decoder's `userInfo` has under `.flowAnswers`.
  ///
  /// The answer of a step that the flow does not know by name, since only a transition leads there, is kept as it is; its
  /// type is known when a replay has come there, which also finds out whether the flow has such a step. What the decoder
  /// does in a way of its own, as `JSONDecoder` with `URL`, `Data`, `Decimal` and its strategies, is not done then: name
  /// steps with such answers by `leadsTo`.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` for an answer of another shape; ``FlowError/notCodable`` for a result that is not
  ///   `Decodable`, or without the types.
  public init(from decoder: any Decoder) throws {
    guard let types = decoder.userInfo[.flowAnswers] as? FlowAnswerTypes else {
      throw FlowError(.notCodable, step: "", detail: "set decoder.userInfo[.flowAnswers] to the flow's answerTypes")
    }
    var entries: [FlowLogEntry] = []
    var container = try decoder.unkeyedContainer()
    while !container.isAtEnd {
      let fields = try container.nestedContainer(keyedBy: Key.self)
      let step = try fields.decode(String.self, forKey: .step)
      entries.append(FlowLogEntry(step: step, end: try Self.end(of: step, types.byName[step], in: fields)))
    }
    self.init(entries)
  }

  private static func end(
    of step: String,
    _ type: FlowAnswerType?,
    in fields: KeyedDecodingContainer<Key>
  ) throws -> FlowEnd {
    let reason = try fields.decodeIfPresent(String.self, forKey: .reason)
    switch try fields.decodeIfPresent(String.self, forKey: .ending) {
    case nil: break
    case "back": return .ended(.back)
    case "abandoned": return .ended(.abandoned)
    case "cancelled": return .ended(.cancelled(Cancellation(reason: reason)))
    case "failed": return .ended(.failed(FlowError(.recordedFailure, step: step, detail: reason)))
    case let ending?: throw FlowError(.wrongAnswer, step: step, detail: "“\(ending)” is no ending")
    }
    if let type { return .answered(try type.answer(of: step) { try fields.superDecoder(forKey: .answer) }) }
    guard fields.contains(.answer) else { throw FlowError(.wrongAnswer, step: step, detail: "there is none") }
    return .answered(FlowBox(try fields.decodeIfPresent(FlowStored.self, forKey: .answer) ?? .null))
  }
}
