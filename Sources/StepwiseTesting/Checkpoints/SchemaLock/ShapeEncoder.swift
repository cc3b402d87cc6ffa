// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An encoder that stores nothing, and records what would be stored.
struct ShapeEncoder: Encoder {
  let recorder: ShapeRecorder
  /// The keys that lead to this encoder.
  var path: [String] = []
  /// Whether keys are data, as in a dictionary.
  var hasAnyKeys = false
  /// The type of the encoded value, if it is known.
  var type: String?
  /// Whether the encoded value is an enum, which encodes its raw value.
  var isEnum = false
  /// The kind of the encoded value, if it is a collection without keys.
  var collection: String?

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ recorder: ShapeRecorder) {
    self.recorder = recorder
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if hasAnyKeys { recorder.begin(path, self.type) }
    return KeyedEncodingContainer(KeyedShapes<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    recorder.begin(path, type)
    if let collection { record(collection) }
    return UnkeyedShapes(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleShape(encoder: self) }

  /// Returns the encoder for a key.
  func below(_ key: String) -> ShapeEncoder {
    if path.isEmpty { recorder.see(key: key) }
    if hasAnyKeys { recorder.fill(path, type) }
    var encoder = self
    (encoder.hasAnyKeys, encoder.type, encoder.isEnum, encoder.collection) = (false, nil, false, nil)
    encoder.path.append(hasAnyKeys ? "*" : key)
    return encoder
  }

  func record(_ type: String) { recorder.record(path, isEnum ? "enum of \(type)" : type) }
  func recordNull() { recorder.recordNull(path) }

  func encode<Value: Encodable>(_ value: Value) throws {
    if let optional = value as? any OptionalValue {
      recordNull()
      optional.note(at: path, in: recorder)
    }
    switch value {
    case is Date: record("Date")
    case is Data: record("Data")
    case is URL: record("URL")
    case is Decimal: record("Decimal")
    case is UUID: record("UUID")
    default:
      let style = Mirror(reflecting: value).displayStyle
      var encoder = self
      encoder.hasAnyKeys = style == .dictionary
      encoder.type = String(reflecting: Value.self)
      encoder.isEnum = style == .enum && value is any RawRepresentable
      encoder.collection = style == .set ? "Set" : style == .collection ? "Array" : nil
      (value as? any KeyedCollection)?.noteKeys(at: path, in: recorder)
      try value.encode(to: encoder)
    }
  }
}

private protocol KeyedCollection {
  func noteKeys(at path: [String], in recorder: ShapeRecorder)
}

extension Dictionary: KeyedCollection {
  /// Records the type of keys that are stored as keys of an object; those of other types are elements of a list.
  func noteKeys(at path: [String], in recorder: ShapeRecorder) {
    guard Key.self is any CodingKeyRepresentable.Type, !isEmpty else { return }
    let isEnum = Key.self is any RawRepresentable.Type
    recorder.record(path + ["{key}"], isEnum ? "enum of keys" : "\(Key.self)")
  }
}

private protocol OptionalValue {
  func note(at path: [String], in recorder: ShapeRecorder)
}

extension Optional: OptionalValue {
  func note(at path: [String], in recorder: ShapeRecorder) {
    recorder.recordOptional(path, of: String(reflecting: Wrapped.self), isPresent: self != nil)
  }
}

private struct KeyedShapes<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: ShapeEncoder
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { encoder.below(key.stringValue).recordNull() }

  func encode(_ value: some Encodable, forKey key: Key) throws { try encoder.below(key.stringValue).encode(value) }

  // One for each requirement with a default implementation, which a generic method does not replace.
  func encode(_ value: Int128, forKey key: Key) throws { try encoder.below(key.stringValue).encode(value) }
  func encode(_ value: UInt128, forKey key: Key) throws { try encoder.below(key.stringValue).encode(value) }
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
    encoder.recorder.recordAbsence(path)
    value.note(at: path, in: encoder.recorder)
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

  init(encoder: ShapeEncoder) {
    self.encoder = encoder
  }

  private mutating func element() -> ShapeEncoder {
    count += 1
    encoder.recorder.fill(encoder.path, encoder.type)
    return encoder.below("[]")
  }

  mutating func encodeNil() { element().recordNull() }
  mutating func encode(_ value: some Encodable) throws { try element().encode(value) }
  mutating func encode(_ value: Int128) throws { try element().encode(value) }
  mutating func encode(_ value: UInt128) throws { try element().encode(value) }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    element().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { element() }
}

private struct SingleShape: SingleValueEncodingContainer {
  let encoder: ShapeEncoder
  var codingPath: [any CodingKey] { [] }

  func encodeNil() { encoder.recordNull() }
  func encode(_ value: Int128) { encoder.record("Int128") }
  func encode(_ value: UInt128) { encoder.record("UInt128") }

  func encode(_ value: some Encodable) throws {
    switch value {
    case is Bool, is String, is Double, is Float, is Int, is Int8, is Int16, is Int32, is Int64, is UInt, is UInt8,
      is UInt16, is UInt32, is UInt64:
      encoder.record("\(type(of: value))")
    default: try encoder.encode(value)
    }
  }
}

/// Records which types are stored under which paths.
final class ShapeRecorder {
  /// The keys at the top level: the case of an enum, or the properties of a struct.
  private(set) var topKeys: Set<String> = []
  private(set) var types: [[String]: ValueType] = [:]
  /// The empty collections, and their types if they are known.
  private var empty: [[String]: String] = [:]
  /// The collections that have elements.
  private var filled: [[String]: String] = [:]
  /// The optional values that are nil, and their types.
  private var missing: [[String]: String] = [:]
  /// The optional values that are present.
  private var present: [[String]: String] = [:]

  func see(key: String) { topKeys.insert(key) }

  func record(_ path: [String], _ type: String) { types[path, default: ValueType(kinds: [])].kinds.insert(type) }

  /// Records that null is stored for an optional value that is nil.
  func recordNull(_ path: [String]) { types[path, default: ValueType(kinds: [])].mayBeNull = true }

  /// Records that nothing is stored for an optional value that is nil.
  func recordAbsence(_ path: [String]) { types[path, default: ValueType(kinds: [])].mayBeAbsent = true }

  /// Records an optional value.
  func recordOptional(_ path: [String], of type: String, isPresent: Bool) {
    if isPresent { present[path] = type } else { missing[path] = type }
  }

  /// Records a collection, before its elements.
  func begin(_ path: [String], _ type: String?) { empty[path] = type ?? "" }

  /// Records an element of a collection.
  func fill(_ path: [String], _ type: String?) {
    empty[path] = nil
    filled[path] = type ?? ""
  }

  /// Whether the stage consists of a single value.
  var isValue: Bool { topKeys.isEmpty && empty.isEmpty && filled.isEmpty }

  /// The empty collections, except at the leaves of a tree whose nodes contain such collections.
  var unknown: [[String]] { Self.unknown(empty, besides: filled) }

  /// The optional values that are nil, except at the leaves of a tree.
  var unknownOptionals: [[String]] { Self.unknown(missing, besides: present).filter { present[$0] == nil } }

  private static func unknown(_ ends: [[String]: String], besides inner: [[String]: String]) -> [[String]] {
    ends.filter { path, type in
      !inner.contains { above, kind in kind == type && !type.isEmpty && path.starts(with: above) }
    }.map(\.key)
  }

  /// The text of a path in a file.
  static func text(of path: [String]) -> String { path.joined(separator: ".").replacing(".[]", with: "[]") }
}
