// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The codecs of a store or of a fleet: the first one encodes what is stored, and each decodes what names it.
package struct PayloadCodecs: Sendable {
  /// Why what is stored cannot be decoded.
  package enum Failure: Error {
    /// No codec has the name.
    case unknown(codec: String)
    /// The codec throws an error.
    case undecodable(codec: String, reason: String)
    /// What is stored is neither a payload nor an encoded one.
    case damaged(reason: String)
  }

  private let codec: PayloadCodec?
  private let all: [PayloadCodec]

  /// Creates codecs; without one that encodes, payloads are stored as they are.
  package init(_ codec: PayloadCodec?, previous: [PayloadCodec]) {
    (self.codec, all) = (codec, [codec].compactMap { $0 } + previous)
  }

  /// Encodes a payload; an empty one stays empty.
  package func encode(_ payload: [UInt8]) throws(DataError) -> [UInt8] {
    guard let codec, !payload.isEmpty else { return payload }
    let bytes: [UInt8]
    do {
      bytes = try EncodedPayload(payload, by: codec).bytes
    } catch {
      throw DataError(reason: "the codec \"\(codec.name)\" cannot encode it: \(StoredReason.text(error))")
    }
    guard bytes.count <= UInt32.max else {
      throw DataError(reason: "the codec \"\(codec.name)\" has encoded it to \(bytes.count) bytes")
    }
    return bytes
  }

  /// Decodes a payload; one that no codec has encoded is returned as it is.
  package func decode(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
    var reader = ByteReader(bytes)
    do {
      guard let payload = try EncodedPayload(from: &reader) else { return bytes }
      guard reader.isAtEnd else {
        throw DataError(reason: "an encoded payload is followed by \(reader.rest.count) bytes")
      }
      return try decode(payload)
    } catch let failure as Failure {
      throw failure
    } catch {
      throw .damaged(reason: StoredReason.text(error))
    }
  }

  func decode(_ payload: EncodedPayload) throws(Failure) -> [UInt8] {
    guard let codec = all.first(where: { $0.name == payload.codec }) else { throw .unknown(codec: payload.codec) }
    do {
      return try codec.decode(payload.body)
    } catch {
      throw .undecodable(codec: payload.codec, reason: StoredReason.text(error))
    }
  }
}

// MARK: - Texts

/// Payloads as text, for a store that has texts: JSON as it is, and what a codec has encoded in base 64.
// Safety: an encoded payload begins with "//////", and no JSON begins with a slash.
extension PayloadCodecs {
  /// Encodes a payload that is JSON.
  package func text(_ payload: some Collection<UInt8>) throws(DataError) -> String {
    guard codec != nil, !payload.isEmpty else { return String(decoding: payload, as: UTF8.self) }
    return Data(try encode(Array(payload))).base64EncodedString()
  }

  /// Decodes a payload that is JSON.
  package func payload(_ text: some StringProtocol) throws(Failure) -> [UInt8] {
    try decode(EncodedPayload.bytes(of: text))
  }
}

extension EncodedPayload {
  /// The bytes of a payload that is stored as text: of an encoded one what base 64 stands for, otherwise those of the text.
  package static func bytes(of text: some StringProtocol) -> [UInt8] {
    guard text.utf8.starts(with: "//////".utf8), let data = Data(base64Encoded: String(text)) else {
      return Array(text.utf8)
    }
    return Array(data)
  }
}
