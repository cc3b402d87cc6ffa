// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A certificate in DER, of which URLSession's interface offers neither a PEM file nor the pin.
struct Certificate {
  let der: Data

  /// Returns the certificates of a PEM file, in order.
  static func certificates(pem: String) -> [Certificate] {
    pem.components(separatedBy: "-----BEGIN CERTIFICATE-----").dropFirst().compactMap { part in
      guard let end = part.range(of: "-----END CERTIFICATE-----") else { return nil }
      return Data(base64Encoded: String(part[..<end.lowerBound]), options: .ignoreUnknownCharacters)
        .map { Certificate(der: $0) }
    }
  }

  /// The Base64 of the SHA-256 of the `SubjectPublicKeyInfo`; nil when this is not a certificate.
  var pin: String? {
    guard let key = publicKeyInfo else { return nil }
    var hash = SystemSHA256()
    key.withUnsafeBytes { hash.update($0) }
    let digits = Array(hash.hex())
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    return Data(bytes).base64EncodedString()
  }

  /// The seventh element of the inner sequence (RFC 5280, section 4.1), or the sixth where the version is omitted.
  private var publicKeyInfo: Data? {
    guard let outer = Self.element(der[...])?.content, var rest = Self.element(outer)?.content else { return nil }
    let version: UInt8 = 0xA0
    for _ in 0..<(rest.first == version ? 6 : 5) {
      guard let whole = Self.element(rest)?.whole else { return nil }
      rest = rest[whole.endIndex...]
    }
    return Self.element(rest)?.whole
  }

  /// Returns the first element of DER: with its tag and length, and what is in it.
  private static func element(_ bytes: Data) -> (whole: Data, content: Data)? {
    guard bytes.count >= 2 else { return nil }
    var start = bytes.startIndex + 2
    var length = Int(bytes[bytes.startIndex + 1])
    if length >= 0x80 {
      let count = length & 0x7F
      guard (1...4).contains(count), bytes.endIndex - start >= count else { return nil }
      length = bytes[start..<(start + count)].reduce(0) { $0 << 8 | Int($1) }
      start += count
    }
    guard bytes.endIndex - start >= length else { return nil }
    return (bytes[..<(start + length)], bytes[start..<(start + length)])
  }
}
