// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decodes a stored answer, now that its type is known.
struct FlowStoredDecoder: Decoder, SingleValueDecodingContainer {
  let stored: FlowStored
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ stored: FlowStored, at codingPath: [any CodingKey] = []) {
    self.stored = stored
    self.codingPath = codingPath
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .fields(let fields) = stored else { throw mismatch([String: FlowStored].self) }
    return KeyedDecodingContainer(FlowStoredFields(fields: fields, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .list(let elements) = stored else { throw mismatch([FlowStored].self) }
    return FlowStoredList(elements: elements, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool {
    if case .null = stored { true } else { false }
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard let simple = type as? any FlowStoredValue.Type else { return try Value(from: self) }
    guard let value = simple.init(stored: stored) as? Value else { throw mismatch(type) }
    return value
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    DecodingError.typeMismatch(type, .init(codingPath: codingPath, debugDescription: "there is \(stored)"))
  }
}

private struct FlowStoredFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let fields: [String: FlowStored]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { fields.keys.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { fields[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder(at: key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(at: key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try decoder(at: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(at: key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder {
    let key = FlowStored.Key(stringValue: "super")
    return FlowStoredDecoder(fields[key.stringValue] ?? .null, at: codingPath + [key])
  }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(at: key) }

  private func decoder(at key: Key) throws -> FlowStoredDecoder {
    guard let stored = fields[key.stringValue] else {
      throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "there is no such field"))
    }
    return FlowStoredDecoder(stored, at: codingPath + [key])
  }
}

private struct FlowStoredList: UnkeyedDecodingContainer {
  let elements: [FlowStored]
  let codingPath: [any CodingKey]
  var currentIndex = 0

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try decoder().decodeNil() else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try taking { try $0.decode(type) } }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try taking { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try taking { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try taking { $0 } }

  /// An element counts as taken when it could be decoded.
  private mutating func taking<Value>(_ decode: (FlowStoredDecoder) throws -> Value) throws -> Value {
    let value = try decode(decoder())
    currentIndex += 1
    return value
  }

  private func decoder() throws -> FlowStoredDecoder {
    let path = codingPath + [FlowStored.Key(intValue: currentIndex)]
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(Any.self, .init(codingPath: path, debugDescription: "there are no more"))
    }
    return FlowStoredDecoder(elements[currentIndex], at: path)
  }
}
