// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The content of a step at one moment, as answer logs and walks store it.
enum FlowContent: Sendable {
  /// A content in memory, and what to encode of it.
  case value(@MainActor () -> Any, FlowContentCopy?)
  /// The contents of a step that presents several.
  case members([FlowContent?])
  /// A content of a decoded log.
  case stored(FlowStored)

  var isEncodable: Bool {
    switch self {
    case .value(_, let copy): copy != nil
    case .members(let contents): contents.contains { $0?.isEncodable == true }
    case .stored: true
    }
  }
}

extension FlowContent: Encodable {
  func encode(to encoder: any Encoder) throws {
    switch self {
    case .value(_, let copy): try copy?.value.encode(to: encoder)
    case .stored(let stored): try stored.encode(to: encoder)
    case .members(let contents):
      var container = encoder.unkeyedContainer()
      for content in contents {
        if let content, content.isEncodable { try container.encode(content) } else { try container.encodeNil() }
      }
    }
  }
}

/// A copy of a content that is a `Codable` value.
struct FlowContentCopy: Sendable {
  // Safety: it is a copy, because the initializer refuses objects, and nothing changes it. Objects inside it that are
  // not Sendable are encoded on the main actor: the documentation of `FlowLog.encode(to:)` requires that of its caller.
  fileprivate nonisolated(unsafe) let value: any Encodable

  /// Returns nil for an object as well: a file cannot store the identity of a model that several screens share.
  init?(_ content: Any) {
    guard !(type(of: content) is AnyClass), let value = content as? any Encodable & Decodable else { return nil }
    self.value = value
  }
}

/// A result or a content of a decoded log whose step is not known yet.
///
/// Its decoder decodes it later, with the decoder's own strategies. Until then it can only be encoded again.
final class FlowStored: Encodable, Sendable {
  private let tree: FlowTree
  // Safety: the initializers receive it from `superDecoder`, which creates a decoder for the value alone. This object
  // has the only reference, and after the initializer only the main actor uses it.
  private nonisolated(unsafe) let decoder: any Decoder

  /// Returns nil when there is no value.
  init?<Key>(_ key: Key, in fields: KeyedDecodingContainer<Key>) throws {
    guard fields.contains(key) else { return nil }
    decoder = try fields.superDecoder(forKey: key)
    tree = try FlowTree(from: decoder)
  }

  private init(nextOf list: inout any UnkeyedDecodingContainer) throws {
    decoder = try list.superDecoder()
    tree = try FlowTree(from: decoder)
  }

  /// Decodes a result, when its type is known.
  @MainActor
  func answer(of step: String, as type: any Sendable.Type) throws -> FlowEnd {
    try .answered(by: step, as: type, from: decoder)
  }

  /// Decodes a content, when its type is known.
  @MainActor
  func content<Content>(as type: Content.Type) throws -> Content {
    guard let type = type as? any Decodable.Type, let content = try type.init(from: decoder) as? Content else {
      throw FlowError(.notCodable, step: "")
    }
    return content
  }

  /// The stored contents of a step that presents several.
  @MainActor
  func members() throws -> [FlowContent?] {
    var list = try decoder.unkeyedContainer()
    var members: [FlowContent?] = []
    while !list.isAtEnd { members.append(try list.decodeNil() ? nil : .stored(FlowStored(nextOf: &list))) }
    return members
  }

  func encode(to encoder: any Encoder) throws { try tree.encode(to: encoder) }
}

/// A stored value as a tree of simple values.
private struct FlowTree: Codable, Sendable {
  private static let types: [any (Codable & Sendable).Type] = [
    Bool.self, Int64.self, UInt64.self, Double.self, String.self, [FlowTree].self, [String: FlowTree].self,
  ]

  /// Nil for null.
  private let value: (any Codable & Sendable)?

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      value = nil
    } else {
      value = try Self.types.lazy.compactMap { try? container.decode($0) }.first ?? container.decode(String.self)
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let value { try container.encode(value) } else { try container.encodeNil() }
  }
}
