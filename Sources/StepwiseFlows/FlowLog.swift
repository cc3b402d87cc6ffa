// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The answers that a flow received, to store and to replay it from.
///
/// Store the log to resume a flow after a crash, or write one by hand for a deep link. Besides the answers, it has the
/// content that each step had when it was answered, and the latest content of each step on the path: a replay shows
/// what the user saw.
///
/// ```swift
/// let data = try JSONEncoder().encode(flow.answers)
/// let answers = try JSONDecoder().decode(FlowLog.self, from: data)
/// let output = try await flow.replay(answers: answers)
/// ```
public struct FlowLog: Sendable, ExpressibleByArrayLiteral {
  /// The answers, oldest first; the last one may be that of a nested flow in progress, with its answers so far.
  public var entries: [FlowLogEntry]

  /// The latest contents of the steps on the path.
  let contents: [String: FlowContent]

  /// Creates a log.
  public init(_ entries: [FlowLogEntry] = []) { self.init(entries, contents: [:]) }

  init(_ entries: [FlowLogEntry], contents: [String: FlowContent]) {
    self.entries = entries
    self.contents = contents
  }

  /// Creates a log of the answers listed.
  public init(arrayLiteral elements: FlowLogEntry...) { self.init(elements) }
}

extension FlowLog: RandomAccessCollection, CustomStringConvertible {
  /// The position of the first answer.
  public var startIndex: Int { entries.startIndex }
  /// The position after the last answer.
  public var endIndex: Int { entries.endIndex }
  /// The answer at a position.
  public subscript(position: Int) -> FlowLogEntry { entries[position] }
  /// The answers, without their values.
  public var description: String { "[\(entries.map(\.description).joined(separator: ", "))]" }
}

/// Whether a flow's log has the answers along the path, or all of them.
///
/// Keep the answers along the path if you only want to resume; keep all to see what your user did.
public struct FlowLogging: Hashable, Sendable {
  let keepsAll: Bool

  /// The answers along the path.
  ///
  /// Going back and forth does not use more memory.
  public static let path = FlowLogging(keepsAll: false)

  /// All answers, including those of steps that the user has left with back.
  public static let all = FlowLogging(keepsAll: true)
}

/// One answer of a ``FlowLog``.
///
/// You can create one by hand for a deep link.
public struct FlowLogEntry: Sendable {
  /// The name of the step that was presented.
  public let step: String

  /// The answers that the step's own flow received; nil for a step that does not run a flow.
  public let inside: FlowLog?

  /// The content of the step when it was answered.
  let content: FlowContent?

  /// Nil for a flow in progress.
  let end: FlowEnd?

  /// The number of steps that left the path, this one included, before the step that its rule for `.back` leads to.
  var leaving = 0

  package init(step: String, content: FlowContent? = nil, end: FlowEnd?, inside: FlowLog? = nil) {
    self.step = step
    self.content = content
    self.end = end
    self.inside = inside
  }

  /// The result; nil when the step ended without one, is a flow in progress, or comes from a decoded log.
  public var result: (any Sendable)? {
    if case .answered(let box) = end, !(box is Box<JSONValue>) { box.any } else { nil }
  }

  /// How the step ended without a result; nil when it has one, or is a flow in progress.
  public var ending: FlowEnding? {
    if case .ended(let ending) = end { ending } else { nil }
  }

  /// The entry of a flow that ended without a result, converted to one in progress: a replay presents the same step
  /// again.
  var inProgress: FlowLogEntry? {
    inside == nil ? nil : FlowLogEntry(step: step, content: content, end: nil, inside: inside)
  }
}

extension FlowLogEntry: CustomStringConvertible, CustomDebugStringConvertible {
  /// The step, and how it ended, with the type of a result in place of its value.
  public var description: String { text { "\(type(of: $0))" } }

  /// The step, and how it ended, with the result.
  public var debugDescription: String { text { String(reflecting: $0) } }

  private func text(_ describe: (any Sendable) -> String) -> String {
    switch end {
    case nil: "\(step): \(inside?.description ?? "")"
    case .answered: "\(step): answered" + (result.map { " with \(describe($0))" } ?? "")
    case .ended(let ending): "\(step): \(ending)"
    }
  }
}

// MARK: - Storing

extension FlowLog: Codable {
  private enum Key: String, CodingKey {
    case step, content, latest, answer, ending, reason, leaving, inside
  }

  /// Encodes the answers, each under the name of its step.
  ///
  /// They have the form of a `JSONEncoder` without options. Contents that are not `Codable` values are left out: a replay
  /// shows what the answers lead to. Encode on the main actor when contents refer to objects that are not `Sendable`.
  ///
  /// - Throws: ``FlowError/notCodable`` for a result that is not `Encodable`, unless the answers of a nested flow lead
  ///   to it: replay such a log in memory. Also what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for entry in entries {
      var fields = container.nestedContainer(keyedBy: Key.self)
      try Self.encode(entry, to: &fields)
    }
    for (step, content) in contents.sorted(by: { $0.key < $1.key }) {
      guard let json = try content.json else { continue }
      var fields = container.nestedContainer(keyedBy: Key.self)
      try fields.encode(step, forKey: .step)
      try fields.encode(json, forKey: .latest)
    }
  }

  private static func encode(_ entry: FlowLogEntry, to fields: inout KeyedEncodingContainer<Key>) throws {
    try fields.encode(entry.step, forKey: .step)
    try fields.encodeIfPresent(entry.content?.json, forKey: .content)
    try fields.encodeIfPresent(entry.inside, forKey: .inside)
    switch entry.end {
    case nil: break
    case .answered(let box as Box<JSONValue>): try fields.encode(box.value, forKey: .answer)
    case .answered(is Box<Void>): try fields.encodeNil(forKey: .answer)
    case .answered(let box):
      if let answer = box.any as? any Encodable {
        try fields.encode(JSONValue(answer), forKey: .answer)
      } else if entry.inside == nil {
        throw FlowError(.notCodable, step: entry.step)
      }
    case .ended(let ending):
      let (name, reason): (String, String?) =
        switch ending {
        case .back: ("back", nil)
        case .abandoned: ("abandoned", nil)
        case .cancelled(let cancellation): ("cancelled", cancellation.reason)
        case .failed(let error): ("failed", String(describing: error))
        }
      try fields.encode(name, forKey: .ending)
      try fields.encodeIfPresent(reason, forKey: .reason)
      if entry.leaving > 0 { try fields.encode(entry.leaving, forKey: .leaving) }
    }
  }

  /// Decodes a log, with answers and contents that are decoded when a replay reaches their step.
  ///
  /// - Throws: ``FlowError/wrongAnswer`` for an entry of another shape; what the decoder throws.
  public init(from decoder: any Decoder) throws {
    var entries: [FlowLogEntry] = []
    var contents: [String: FlowContent] = [:]
    var container = try decoder.unkeyedContainer()
    while !container.isAtEnd {
      let fields = try container.nestedContainer(keyedBy: Key.self)
      let step = try fields.decode(String.self, forKey: .step)
      func json(_ key: Key) throws -> JSONValue? {
        fields.contains(key) ? try JSONValue(from: fields.superDecoder(forKey: key)) : nil
      }
      if let latest = try json(.latest) {
        contents[step] = .json(latest)
        continue
      }
      let inside = try fields.decodeIfPresent(FlowLog.self, forKey: .inside)
      let end = try Self.ending(of: step, in: fields) ?? json(.answer).map { .answered(Box($0)) }
      guard end != nil || inside != nil else { throw FlowError(.wrongAnswer, step: step, detail: "there is none") }
      let content = try json(.content).map(FlowContent.json)
      var entry = FlowLogEntry(step: step, content: content, end: end, inside: inside)
      entry.leaving = try fields.decodeIfPresent(Int.self, forKey: .leaving) ?? 0
      entries.append(entry)
    }
    self.init(entries, contents: contents)
  }

  private static func ending(of step: String, in fields: KeyedDecodingContainer<Key>) throws -> FlowEnd? {
    let reason = try fields.decodeIfPresent(String.self, forKey: .reason)
    switch try fields.decodeIfPresent(String.self, forKey: .ending) {
    case nil: return nil
    case "back": return .ended(.back)
    case "abandoned": return .ended(.abandoned)
    case "cancelled": return .ended(.cancelled(Cancellation(reason: reason)))
    case "failed": return .ended(.failed(FlowError(.recordedFailure, step: step, detail: reason)))
    case let ending?: throw FlowError(.wrongAnswer, step: step, detail: "“\(ending)” is no ending")
    }
  }
}

/// The content of a step at one moment, as answer logs and walks store it.
package enum FlowContent: Sendable {
  /// A copy of a content that is a `Codable` value.
  package struct Copy: Sendable {
    // Safety: it is a copy, because objects are refused, and nothing changes it. Objects inside it that are not Sendable
    // are encoded on the main actor: the documentation of `FlowLog.encode(to:)` requires that of its caller.
    fileprivate nonisolated(unsafe) let value: any Encodable
  }

  /// A content in memory, and what to encode of it.
  case value(@MainActor () -> Any, Copy?)
  /// The contents of a step that presents several.
  case members([FlowContent?])
  /// A content of a decoded log.
  case json(JSONValue)

  /// A content in memory, of which an object is not encoded: a file cannot store the identity of a model that several
  /// screens share.
  @MainActor
  init(_ content: Any) {
    let value = type(of: content) is AnyClass ? nil : content as? any Encodable & Decodable
    self = .value({ content }, value.map { Copy(value: $0) })
  }

  /// The content as JSON; nil when it is not a `Codable` value.
  var json: JSONValue? {
    get throws {
      switch self {
      case .value(_, let copy): return try copy.map { try JSONValue($0.value) }
      case .members(let contents):
        let members = try contents.map { try $0?.json }
        return members.contains { $0 != nil } ? JSONValue(value: members.map { $0 ?? JSONValue(value: nil) }) : nil
      case .json(let json): return json
      }
    }
  }
}

/// A value as JSON, without its type.
package struct JSONValue: Codable, Sendable {
  private static let types: [any (Codable & Sendable).Type] = [
    Bool.self, Int64.self, UInt64.self, Int128.self, Double.self, String.self, [JSONValue].self,
    [String: JSONValue].self,
  ]

  /// Nil for null.
  package let value: (any Codable & Sendable)?

  package init(value: (any Codable & Sendable)?) { self.value = value }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      value = nil
    } else {
      value = try Self.types.lazy.compactMap { try? container.decode($0) }.first ?? container.decode(String.self)
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}

/// A stored answer or content, whose type is known when a replay reaches its step.
extension JSONValue {
  fileprivate init(_ value: any Encodable) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(value))
  }

  /// The contents of a step that presents several.
  var members: [FlowContent?]? { (value as? [JSONValue])?.map { $0.value == nil ? nil : .json($0) } }

  func decoded<Value>(as type: Value.Type, of step: String) throws -> Value {
    guard let type = type as? any Decodable.Type else { throw FlowError(.notCodable, step: step) }
    guard let value = try JSONDecoder().decode(type, from: JSONEncoder().encode(self)) as? Value else {
      throw FlowError(.wrongAnswer, step: step)
    }
    return value
  }

  func answer<Answer: Sendable>(of step: String, as type: Answer.Type) throws(FlowError) -> FlowEnd {
    if let nothing = () as? Answer { return .answered(Box(nothing)) }
    do {
      return .answered(Box(try decoded(as: type, of: step)))
    } catch let error as FlowError {
      throw error
    } catch {
      throw FlowError(.wrongAnswer, step: step, detail: "\(error)")
    }
  }
}
