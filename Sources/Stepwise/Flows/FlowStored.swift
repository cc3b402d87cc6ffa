// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An answer that was decoded before anybody knew its type.
indirect enum FlowStored: Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  case natural(UInt64)
  case number(Double)
  case text(String)
  case list([FlowStored])
  case fields([String: FlowStored])

  struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { Int(stringValue) }

    init(stringValue: String) { self.stringValue = stringValue }
    init(intValue: Int) { stringValue = String(intValue) }
  }
}

extension FlowStored: Codable {
  init(from decoder: any Decoder) throws {
    if let fields = try? decoder.container(keyedBy: Key.self) {
      let pairs = try fields.allKeys.map { ($0.stringValue, try fields.decode(FlowStored.self, forKey: $0)) }
      self = .fields(Dictionary(pairs) { first, _ in first })
      return
    }
    if var list = try? decoder.unkeyedContainer() {
      var elements: [FlowStored] = []
      while !list.isAtEnd { elements.append(try list.decode(FlowStored.self)) }
      self = .list(elements)
      return
    }
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

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .fields(let fields):
      var container = encoder.container(keyedBy: Key.self)
      for (name, value) in fields { try container.encode(value, forKey: Key(stringValue: name)) }
    case .list(let elements):
      var container = encoder.unkeyedContainer()
      for element in elements { try container.encode(element) }
    case .null:
      var container = encoder.singleValueContainer()
      try container.encodeNil()
    case .bool(let value): try value.encode(to: encoder)
    case .integer(let value): try value.encode(to: encoder)
    case .natural(let value): try value.encode(to: encoder)
    case .number(let value): try value.encode(to: encoder)
    case .text(let value): try value.encode(to: encoder)
    }
  }
}
