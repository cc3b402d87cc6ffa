// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Notes which types are stored under which paths.
final class ShapeRecorder {
  /// The key under which everything is stored: the case of an enum.
  private(set) var firstKey: String?
  private(set) var types: [String: Set<String>] = [:]

  func see(key: String) { if firstKey == nil { firstKey = key } }

  /// Notes a type.
  ///
  /// The first key, the case, is left out of the path.
  func record(_ path: [String], _ type: String) {
    guard !path.isEmpty else { return }
    types[path.joined(separator: ".").replacing(".[]", with: "[]"), default: []].insert(type)
  }
}

/// An encoder that stores nothing, and notes what would be stored.
struct ShapeEncoder: Encoder {
  let recorder: ShapeRecorder
  /// The keys on the way here.
  var path: [String] = []
  /// Whether this is at the top, where keys are those of cases.
  var isTop = true
  /// Whether keys are data, as those of a dictionary are.
  var hasAnyKeys = false

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ recorder: ShapeRecorder) {
    self.recorder = recorder
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedShapes<Key>(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedShapes(encoder: self) }
  func singleValueContainer() -> any SingleValueEncodingContainer { SingleShape(encoder: self) }

  /// The encoder of what is stored under a key.
  func below(_ key: String) -> ShapeEncoder {
    var encoder = self
    (encoder.isTop, encoder.hasAnyKeys) = (false, false)
    if isTop { recorder.see(key: key) } else { encoder.path.append(hasAnyKeys ? "*" : key) }
    return encoder
  }

  func record(_ type: String) { recorder.record(path, type) }

  func encode<Value: Encodable>(_ value: Value) throws {
    switch value {
    case is Date: record("Date")
    case is Data: record("Data")
    case is URL: record("URL")
    case is Decimal: record("Decimal")
    default:
      var encoder = self
      encoder.hasAnyKeys = Mirror(reflecting: value).displayStyle == .dictionary
      try value.encode(to: encoder)
    }
  }
}

private struct KeyedShapes<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: ShapeEncoder
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { encoder.below(key.stringValue).record("nil") }

  func encode(_ value: some Encodable, forKey key: Key) throws { try encoder.below(key.stringValue).encode(value) }

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
    return encoder.below("[]")
  }

  mutating func encodeNil() { element().record("nil") }
  mutating func encode(_ value: some Encodable) throws { try element().encode(value) }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    element().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
  mutating func superEncoder() -> any Encoder { element() }
}

private struct SingleShape: SingleValueEncodingContainer {
  let encoder: ShapeEncoder
  var codingPath: [any CodingKey] { [] }

  func encodeNil() { encoder.record("nil") }
  func encode(_ value: Bool) { encoder.record("Bool") }
  func encode(_ value: String) { encoder.record("String") }
  func encode(_ value: Double) { encoder.record("Double") }
  func encode(_ value: Float) { encoder.record("Float") }
  func encode(_ value: Int) { encoder.record("Int") }
  func encode(_ value: Int8) { encoder.record("Int8") }
  func encode(_ value: Int16) { encoder.record("Int16") }
  func encode(_ value: Int32) { encoder.record("Int32") }
  func encode(_ value: Int64) { encoder.record("Int64") }
  func encode(_ value: UInt) { encoder.record("UInt") }
  func encode(_ value: UInt8) { encoder.record("UInt8") }
  func encode(_ value: UInt16) { encoder.record("UInt16") }
  func encode(_ value: UInt32) { encoder.record("UInt32") }
  func encode(_ value: UInt64) { encoder.record("UInt64") }
  func encode(_ value: some Encodable) throws { try encoder.encode(value) }
}
