// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// An encoder that stores nothing, and records what would be stored.
struct ShapeEncoder: Encoder, SingleValueEncodingContainer {
  let shape: CaseShape
  /// The keys that lead to this encoder.
  var path: [String] = []
  /// The type of the encoded value, and its style, if they are known.
  var type: Any.Type?
  var style: Mirror.DisplayStyle?

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if style == .dictionary { noteCollection(isFilled: false) }
    return KeyedEncodingContainer(KeyedShapes<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    noteCollection(isFilled: false)
    if style == .set { record("Set") }
    if style == .collection { record("Array") }
    return UnkeyedShapes(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  /// Returns the encoder for a key.
  func below(_ key: String) -> ShapeEncoder {
    // The keys of a dictionary are data.
    if style == .dictionary { noteCollection(isFilled: true) }
    return ShapeEncoder(shape: shape, path: path + [style == .dictionary ? "*" : key])
  }

  func noteCollection(isFilled: Bool) {
    shape.collections.note(path, of: type.map { String(reflecting: $0) } ?? "", isFilled: isFilled)
  }

  func record(_ kind: String) {
    let isRawValue = style == .enum && type is any RawRepresentable.Type
    shape.recorded[path, default: ValueType()].kinds.insert(isRawValue ? "enum of \(kind)" : kind)
  }

  func encodeNil() { shape.recorded[path, default: ValueType()].mayBeNull = true }

  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let optional as any OptionalValue:
      encodeNil()
      optional.note(at: path, in: shape)
    case is Bool, is String, is Double, is Float, is Int, is Int8, is Int16, is Int32, is Int64, is UInt, is UInt8,
      is UInt16, is UInt32, is UInt64, is Date, is Data, is URL, is Decimal, is UUID:
      return record("\(Value.self)")
    default:
      (value as? any KeyedCollection)?.noteKeys(at: path, in: shape)
    }
    var encoder = self
    (encoder.type, encoder.style) = (Value.self, Mirror(reflecting: value).displayStyle)
    try value.encode(to: encoder)
  }

  // One for each requirement with a default implementation, which a generic method does not replace.
  func encode(_ value: Int128) { record("Int128") }
  func encode(_ value: UInt128) { record("UInt128") }
}

private protocol KeyedCollection {
  func noteKeys(at path: [String], in shape: CaseShape)
}

extension Dictionary: KeyedCollection {
  /// Records the type of keys that are stored as keys of an object; those of other types are elements of a list.
  func noteKeys(at path: [String], in shape: CaseShape) {
    guard Key.self is any CodingKeyRepresentable.Type, !isEmpty else { return }
    let isEnum = Key.self is any RawRepresentable.Type
    shape.recorded[path + ["{key}"], default: ValueType()].kinds.insert(isEnum ? "enum of keys" : "\(Key.self)")
  }
}

private protocol OptionalValue {
  func note(at path: [String], in shape: CaseShape)
}

extension Optional: OptionalValue {
  func note(at path: [String], in shape: CaseShape) {
    shape.optionals.note(path, of: String(reflecting: Wrapped.self), isFilled: self != nil)
  }
}
private struct KeyedShapes<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: ShapeEncoder
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { encoder.below(key.stringValue).encodeNil() }

  func encode(_ value: some Encodable, forKey key: Key) throws { try encoder.below(key.stringValue).encode(value) }

  // One for each requirement with a default implementation, which a generic method does not replace.
  func encode(_ value: Int128, forKey key: Key) throws { encoder.below(key.stringValue).encode(value) }
  func encode(_ value: UInt128, forKey key: Key) throws { encoder.below(key.stringValue).encode(value) }
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try encodeOptional(value, key) }
  func encodeIfPresent(_ value: (some Encodable)?, forKey key: Key) throws { try encodeOptional(value, key) }

  /// Stores no key for nil, like the synthesized encoding of an optional.
  private func encodeOptional(_ value: (some Encodable)?, _ key: Key) throws {
    let path = encoder.path + [key.stringValue]
    encoder.shape.recorded[path, default: ValueType()].mayBeAbsent = true
    value.note(at: path, in: encoder.shape)
    if let value { try encode(value, forKey: key) }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    encoder.below(key.stringValue).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.below(key.stringValue).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder.below("super") }
  func superEncoder(forKey key: Key) -> any Encoder { encoder.below(key.stringValue) }
}

private struct UnkeyedShapes: UnkeyedEncodingContainer {
  let encoder: ShapeEncoder
  var count = 0
  var codingPath: [any CodingKey] { [] }

  private mutating func element() -> ShapeEncoder {
    count += 1
    encoder.noteCollection(isFilled: true)
    return encoder.below("[]")
  }

  mutating func encodeNil() { element().encodeNil() }
  mutating func encode(_ value: some Encodable) throws { try element().encode(value) }
  mutating func encode(_ value: Int128) throws { element().encode(value) }
  mutating func encode(_ value: UInt128) throws { element().encode(value) }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    element().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { element() }
}

/// Records what the samples of one case are stored as.
final class CaseShape {
  /// Collections, or optional values, and whether something is in them.
  struct Holders {
    private var empty: [[String]: String] = [:]
    private var filled: [[String]: String] = [:]

    /// Notes a collection or a value; the type is empty if it is not known.
    mutating func note(_ path: [String], of type: String, isFilled: Bool) {
      if isFilled { filled[path] = type } else { empty[path] = type }
    }

    /// Those with nothing in them, except at the leaves of a tree whose nodes contain such ones.
    var unknown: [[String]] {
      empty.filter { path, type in
        filled[path] == nil
          && !filled.contains { above, kind in kind == type && !type.isEmpty && path.starts(with: above) }
      }
      .map(\.key)
    }
  }

  var samples: [String] = []
  var recorded: [[String]: ValueType] = [:]
  var collections = Holders()
  var optionals = Holders()
  /// Whether the first key of each path is the case of an enum.
  private let isCase: Bool

  init(isCase: Bool) {
    self.isCase = isCase
  }

  /// The types by their paths below the case.
  var types: [String: ValueType] {
    Dictionary(uniqueKeysWithValues: recorded.map { (text($0), $1) }.filter { !$0.0.isEmpty })
  }

  var unknownCollections: [String] { collections.unknown.map(text).sorted() }
  var unknownOptionals: [String] { optionals.unknown.map(text).sorted() }

  private func text(_ path: [String]) -> String { Self.text(of: Array(path.dropFirst(isCase ? 1 : 0))) }

  /// The text of a path in a file.
  static func text(of path: [String]) -> String { path.joined(separator: ".").replacing(".[]", with: "[]") }
}
