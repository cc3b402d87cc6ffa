// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The content of a step at one moment, as answer logs and walks store it.
package enum FlowContent: Sendable {
  case value(FlowContentBox)
  /// The contents of a step that presents several.
  case members([FlowContent?])
  /// A content of a decoded log.
  case stored(FlowStored)
}

/// A content without its type.
package final class FlowContentBox: Sendable {
  // Safety: only the main actor reads it, apart from `encode`, whose documentation says where it may be called.
  fileprivate nonisolated(unsafe) let value: Any

  init(_ value: Any) {
    self.value = value
  }

  @MainActor
  func content<Content>(as type: Content.Type) throws -> Content {
    guard let content = value as? Content else { throw FlowError(.wrongAnswer, step: "") }
    return content
  }

  /// Nil for an object as well: a file cannot store the identity of a model that several screens share.
  fileprivate var encodable: (any Encodable)? {
    type(of: value) is AnyClass ? nil : value as? any Encodable & Decodable
  }
}

extension FlowContent: Encodable {
  var isEncodable: Bool {
    switch self {
    case .value(let box): box.encodable != nil
    case .members(let contents): contents.contains { $0?.isEncodable == true }
    case .stored: true
    }
  }

  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .value(let box): try box.encodable?.encode(to: encoder)
    case .stored(let stored): try stored.encode(to: encoder)
    case .members(let contents):
      var container = encoder.unkeyedContainer()
      for content in contents {
        if let content, content.isEncodable { try container.encode(content) } else { try container.encodeNil() }
      }
    }
  }
}
