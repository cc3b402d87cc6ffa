// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A result or a content of a decoded log whose step is not known yet.
///
/// Its decoder decodes it later, with the decoder's own strategies. Until then it can only be encoded again.
package final class FlowStored: Sendable {
  private let tree: FlowTree
  // Safety: after the initializer only the main actor uses it, and the decoding that it was part of has ended by then.
  private nonisolated(unsafe) let decoder: any Decoder

  init(from decoder: any Decoder) throws {
    tree = try FlowTree(from: decoder)
    self.decoder = decoder
  }

  /// Decodes a result, when its type is known.
  @MainActor
  func answer(of step: AnyFlowStep) throws -> any AnyBox { try step.answerType.answer(of: step.name, from: decoder) }

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
    var container = try decoder.unkeyedContainer()
    var members: [FlowContent?] = []
    while !container.isAtEnd {
      members.append(try container.decodeNil() ? nil : .stored(FlowStored(from: container.superDecoder())))
    }
    return members
  }

  func encode(to encoder: any Encoder) throws { try tree.encode(to: encoder) }
}

/// A stored value as a tree of simple values.
private indirect enum FlowTree: Codable, Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case natural(UInt64)
  case number(Double)
  case text(String)
  case list([FlowTree])
  case fields([String: FlowTree])

  init(from decoder: any Decoder) throws {
    if let fields = try? [String: FlowTree](from: decoder) {
      self = .fields(fields)
    } else if let list = try? [FlowTree](from: decoder) {
      self = .list(list)
    } else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let value = try? container.decode(Bool.self) {
        self = .bool(value)
      } else if let value = try? container.decode(Int64.self) {
        self = .integer(value)
      } else if let value = try? container.decode(UInt64.self) {
        self = .natural(value)
      } else if let value = try? container.decode(Double.self) {
        self = .number(value)
      } else {
        self = .text(try container.decode(String.self))
      }
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let value): try value.encode(to: encoder)
    case .integer(let value): try value.encode(to: encoder)
    case .natural(let value): try value.encode(to: encoder)
    case .number(let value): try value.encode(to: encoder)
    case .text(let value): try value.encode(to: encoder)
    case .list(let values): try values.encode(to: encoder)
    case .fields(let values): try values.encode(to: encoder)
    }
  }
}
