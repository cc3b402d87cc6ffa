// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension CodingUserInfoKey {
  /// The key under which a decoder finds a flow's ``Flow/answerTypes``, which it needs for a ``FlowLog``.
  public static var flowAnswers: CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: "Stepwise.FlowLog") else {
      // Safety: the initializer is failable only because its protocol requires it; it accepts every string.
      fatalError("a user info key was refused")
    }
    return key
  }
}

extension FlowLog: Codable {
  private enum Key: String, CodingKey {
    case step, content, latest, answer, ending, reason, inside
  }

  /// Encodes the answers, each under the name of its step.
  ///
  /// Contents are encoded if they are `Codable` values. For other contents, a replay from the decoded log shows what
  /// the answers lead to. Encode on the main actor when contents refer to objects that are not `Sendable`.
  ///
  /// - Throws: ``FlowError/notCodable`` for a result that is not `Encodable`, unless the answers of a nested flow lead
  ///   to it; what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for entry in entries {
      var fields = container.nestedContainer(keyedBy: Key.self)
      try Self.encode(entry, to: &fields)
    }
    for (step, content) in contents.sorted(by: { $0.key < $1.key }) where content.isEncodable {
      var fields = container.nestedContainer(keyedBy: Key.self)
      try fields.encode(step, forKey: .step)
      try fields.encode(content, forKey: .latest)
    }
  }

  private static func encode(_ entry: FlowLogEntry, to fields: inout KeyedEncodingContainer<Key>) throws {
    try fields.encode(entry.step, forKey: .step)
    if let content = entry.content, content.isEncodable { try fields.encode(content, forKey: .content) }
    try fields.encodeIfPresent(entry.inside, forKey: .inside)
    switch entry.end {
    case nil: break
    case .answered(let box) where box is Box<Void>: try fields.encodeNil(forKey: .answer)
    case .answered(let box):
      if let answer = box.any as? any Encodable {
        try answer.encode(to: fields.superEncoder(forKey: .answer))
      } else if entry.inside == nil {
        throw FlowError(.notCodable, step: entry.step)
      }
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

  /// Decodes answers, with the types that the decoder's `userInfo` contains under `.flowAnswers`.
  ///
  /// Contents, answers of a nested flow, and answers of a step that only a transition names are decoded when a replay
  /// reaches their step. Until then the log retains decoders of their values, which must not share state that changes
  /// with `decoder`; those of `JSONDecoder` and `PropertyListDecoder` do not.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` for an answer of another shape; ``FlowError/notCodable`` for a result that is
  ///   not `Decodable`, or without the types.
  public init(from decoder: any Decoder) throws {
    guard let types = decoder.userInfo[.flowAnswers] as? FlowAnswerTypes else {
      throw FlowError(.notCodable, step: "", detail: "set decoder.userInfo[.flowAnswers] to the flow's answerTypes")
    }
    try self.init(from: decoder, types.byName)
  }

  private init(from decoder: any Decoder, _ types: [String: any Sendable.Type]) throws {
    var entries: [FlowLogEntry] = []
    var contents: [String: FlowContent] = [:]
    var container = try decoder.unkeyedContainer()
    while !container.isAtEnd {
      let fields = try container.nestedContainer(keyedBy: Key.self)
      let step = try fields.decode(String.self, forKey: .step)
      if let content = try FlowStored(.latest, in: fields) {
        contents[step] = .stored(content)
        continue
      }
      // The steps of a nested flow have names of their own.
      let inside = fields.contains(.inside) ? try FlowLog(from: fields.superDecoder(forKey: .inside), [:]) : nil
      let content = try FlowStored(.content, in: fields).map(FlowContent.stored)
      let end = try Self.end(of: step, types[step], in: fields)
      guard end != nil || inside != nil else { throw FlowError(.wrongAnswer, step: step, detail: "there is none") }
      entries.append(FlowLogEntry(step: step, content: content, end: end, inside: inside))
    }
    self.init(entries, contents: contents)
  }

  private static func end(
    of step: String,
    _ type: (any Sendable.Type)?,
    in fields: KeyedDecodingContainer<Key>
  ) throws -> FlowEnd? {
    let reason = try fields.decodeIfPresent(String.self, forKey: .reason)
    switch try fields.decodeIfPresent(String.self, forKey: .ending) {
    case nil: break
    case "back": return .ended(.back)
    case "abandoned": return .ended(.abandoned)
    case "cancelled": return .ended(.cancelled(Cancellation(reason: reason)))
    case "failed": return .ended(.failed(FlowError(.recordedFailure, step: step, detail: reason)))
    case let ending?: throw FlowError(.wrongAnswer, step: step, detail: "“\(ending)” is no ending")
    }
    guard fields.contains(.answer) else { return nil }
    guard let type else { return try FlowStored(.answer, in: fields).map { .answered(Box($0)) } }
    return try .answered(by: step, as: type, from: fields.superDecoder(forKey: .answer))
  }
}
