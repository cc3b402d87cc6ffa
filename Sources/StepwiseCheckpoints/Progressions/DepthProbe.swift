// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An encoder that stores nothing and throws when values are nested too deeply.
///
/// The JSON encoder refuses such a value as well, but only after recursing through all of it. A few thousand levels
/// more would overflow the thread's stack. This encoder stops earlier.
struct DepthProbe: Encoder {
  /// JSON is written and read up to 512 levels.
  ///
  /// Values between the two limits are left to the JSON encoder, which throws.
  static let limit = 1_000

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  fileprivate let depth: Int

  /// Throws when a value is nested too deeply.
  static func check(_ value: some Encodable) throws { try value.encode(to: DepthProbe(depth: 0)) }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(KeyedProbe<Key>(depth: depth + 1))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedProbe(depth: depth + 1) }
  func singleValueContainer() -> any SingleValueEncodingContainer { SingleProbe(depth: depth + 1) }

  /// Encodes a value below this one.
  fileprivate static func encode<Value: Encodable>(_ value: Value, below depth: Int) throws {
    // These are single values in JSON, although their own encoding differs.
    if Value.self == Data.self || Value.self == Date.self || Value.self == URL.self || Value.self == Decimal.self {
      return
    }
    guard depth < limit else {
      // Does not retain the value, because releasing it may recurse as deeply.
      throw EncodingError.invalidValue(
        limit,
        EncodingError.Context(codingPath: [], debugDescription: "it is nested more than \(limit) levels deep")
      )
    }
    try value.encode(to: DepthProbe(depth: depth))
  }
}

private struct KeyedProbe<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let depth: Int
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) {}
  func encode(_ value: Bool, forKey key: Key) {}
  func encode(_ value: String, forKey key: Key) {}
  func encode(_ value: Double, forKey key: Key) {}
  func encode(_ value: Float, forKey key: Key) {}
  func encode(_ value: some FixedWidthInteger & Encodable, forKey key: Key) {}
  // The protocol's default implementations of these throw.
  func encode(_ value: Int128, forKey key: Key) {}
  func encode(_ value: UInt128, forKey key: Key) {}
  func encode(_ value: some Encodable, forKey key: Key) throws { try DepthProbe.encode(value, below: depth) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(KeyedProbe<Nested>(depth: depth + 1))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { UnkeyedProbe(depth: depth + 1) }
  func superEncoder() -> any Encoder { DepthProbe(depth: depth) }
  func superEncoder(forKey key: Key) -> any Encoder { DepthProbe(depth: depth) }
}

private struct UnkeyedProbe: UnkeyedEncodingContainer {
  let depth: Int
  var count = 0
  var codingPath: [any CodingKey] { [] }

  init(depth: Int) {
    self.depth = depth
  }

  mutating func encodeNil() { count += 1 }
  mutating func encode(_ value: Bool) { count += 1 }
  mutating func encode(_ value: String) { count += 1 }
  mutating func encode(_ value: Double) { count += 1 }
  mutating func encode(_ value: Float) { count += 1 }
  mutating func encode(_ value: some FixedWidthInteger & Encodable) { count += 1 }
  mutating func encode(_ value: Int128) { count += 1 }
  mutating func encode(_ value: UInt128) { count += 1 }

  mutating func encode(_ value: some Encodable) throws {
    count += 1
    try DepthProbe.encode(value, below: depth)
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    KeyedEncodingContainer(KeyedProbe<Nested>(depth: depth + 1))
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { UnkeyedProbe(depth: depth + 1) }
  mutating func superEncoder() -> any Encoder { DepthProbe(depth: depth) }
}

private struct SingleProbe: SingleValueEncodingContainer {
  let depth: Int
  var codingPath: [any CodingKey] { [] }

  func encodeNil() {}
  func encode(_ value: Bool) {}
  func encode(_ value: String) {}
  func encode(_ value: Double) {}
  func encode(_ value: Float) {}
  func encode(_ value: some FixedWidthInteger & Encodable) {}
  func encode(_ value: Int128) {}
  func encode(_ value: UInt128) {}
  func encode(_ value: some Encodable) throws { try DepthProbe.encode(value, below: depth) }
}
