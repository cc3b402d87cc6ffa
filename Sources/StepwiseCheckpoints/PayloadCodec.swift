// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Converts payloads before they are stored, for example by encryption or compression, and back.
///
/// Use this with an ``EncodedCheckpointStore``, or with the `FleetConfiguration` of a fleet. A payload is the encoded form of a stage, of an input, or of what steps
/// have returned or thrown. What is stored names the codec, so that another one can follow:
///
/// ```swift
/// let codec = PayloadCodec(name: "compressed-1") { bytes in
///   try compress(bytes)
/// } decode: { bytes in
///   try decompress(bytes)
/// }
/// let store = EncodedCheckpointStore(files, codec: codec)
/// ```
///
/// Both closures are called concurrently. They block the thread that calls them, so obtain keys before you create a codec.
public struct PayloadCodec: Sendable {
  /// The name, which is stored with each payload; choose another one for another key or algorithm.
  public let name: String

  let encode: @Sendable ([UInt8]) throws -> [UInt8]
  let decode: @Sendable ([UInt8]) throws -> [UInt8]

  /// Creates a codec.
  ///
  /// - Parameters:
  ///   - name: The name, which is stored as it is.
  ///   - encode: Returns what is stored of a payload. An error prevents that the payload is stored.
  ///   - decode: Returns the payload that was encoded. An error stops the run, and nothing that is stored changes.
  public init(
    name: String,
    encode: @escaping @Sendable ([UInt8]) throws -> [UInt8],
    decode: @escaping @Sendable ([UInt8]) throws -> [UInt8]
  ) {
    (self.name, self.encode, self.decode) = (name, encode, decode)
  }
}

extension PayloadCodec: Hashable {
  /// Codecs of the same name are equal: what they have encoded is the same one's.
  public static func == (one: PayloadCodec, other: PayloadCodec) -> Bool { one.name == other.name }

  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A payload as a codec has encoded it, with the name of the codec.
///
/// | bytes | what |
/// |---|---|
/// | 5 | 0xFF |
/// | 1 | the format, 1 |
/// | n | the length of the codec's name, and the name |
/// | n | the length of the encoded payload, and the encoded payload |
// Safety: nothing that is stored without a codec begins with this. JSON is UTF-8, which has no byte 0xFF. The number of an
// event and the format of a durable run are less than 127, of which 0xFF cannot be the first byte. The entries of a record
// begin with the length of the first one, and one of 0xFFFFFFFF bytes would begin with the number of an event.
package struct EncodedPayload: Sendable {
  package let codec: String
  let body: [UInt8]

  static let format: UInt8 = 1
  private static let mark = [UInt8](repeating: 0xff, count: 5)

  init(_ payload: [UInt8], by codec: PayloadCodec) throws {
    (self.codec, body) = (codec.name, try codec.encode(payload))
  }

  var bytes: [UInt8] {
    var bytes = Self.mark
    bytes.append(Self.format)
    bytes.write(codec, body)
    return bytes
  }

  /// Reads an encoded payload; nil where another begins.
  init?(from reader: inout ByteReader) throws(DataError) {
    guard reader.rest.starts(with: Self.mark) else { return nil }
    _ = try reader.take(Self.mark.count)
    let format = try reader.byte()
    guard format == Self.format else {
      throw DataError(
        reason: "a payload has format \(format) of encoded payloads, and this version reads \(Self.format)"
      )
    }
    (codec, body) = (try reader.read(), try reader.read())
  }

  /// The name of the codec of a payload, which may be followed by something else; nil when none has encoded it.
  package static func codec(of bytes: some Collection<UInt8>) -> String? {
    guard bytes.first == mark.first else { return nil }
    var reader = ByteReader(bytes)
    return (try? EncodedPayload(from: &reader))?.codec
  }
}

// MARK: - Records

extension CheckpointRecord {
  /// The codec of the payload that was stored last; nil when no payload is encoded.
  package var codec: String? {
    for entry in (try? appended())?.reversed() ?? [] {
      if let codec = EncodedPayload.codec(of: entry) { return codec }
    }
    return EncodedPayload.codec(of: stage) ?? EncodedPayload.codec(of: first)
  }

  /// The stored payloads with their names: the first stage or the start, the last stage, and the entries.
  package var payloads: [(name: String, bytes: [UInt8])] {
    let entries = (try? appended()) ?? []
    let length = entries.reduce(stage.count) { $0 - 4 - $1.count }
    let last = length > 0 ? [("last", Array(stage.prefix(length)))] : []
    return [("first", first)] + last + entries.enumerated().map { ("entry \($0 + 1)", Array($1)) }
  }

  /// The entries after what was saved; all of it is entries unless it is an encoded payload.
  ///
  /// - Throws: `DataError` when something else follows, such as a stage.
  private func appended() throws(DataError) -> [ArraySlice<UInt8>] {
    var reader = ByteReader(stage)
    _ = try EncodedPayload(from: &reader)
    var entries: [ArraySlice<UInt8>] = []
    while !reader.isAtEnd { entries.append(try reader.take(Int(reader.number(UInt32.self)))) }
    return entries
  }
}
