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
