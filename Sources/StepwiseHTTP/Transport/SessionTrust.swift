// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFiles

#if canImport(Darwin)
  import Security

  /// The settings with which URLSession's authentication challenges are answered.
  struct SessionTrust {
    private var authorities: [Certificate]?
    private let pins: Set<String>
    private let clientCertificate: (content: Data?, password: String)?
    private var proxyUser: (name: String, password: String)?

    /// Reads the files.
    ///
    /// - Throws: ``HTTPError/refused(reason:)`` when the file of authorities cannot be read.
    init(_ tls: HTTPTLSSettings, _ proxy: HTTPProxy) throws(HTTPError) {
      if let file = tls.certificateAuthorities {
        let found = Certificate.certificates(pem: (try? String(contentsOf: file, encoding: .utf8)) ?? "")
        guard !found.isEmpty else { throw .refused(reason: "the file of certificate authorities cannot be read") }
        authorities = found
      }
      pins = tls.pinnedPublicKeys
      clientCertificate = tls.clientCertificate.map { (try? Data(contentsOf: $0.file), $0.password) }
      if case .server(let url, _) = proxy.kind, let user = url.user(percentEncoded: false) {
        proxyUser = (user, url.password(percentEncoded: false) ?? "")
      }
    }

    /// Returns the answer to a challenge; nil for the system's.
    ///
    /// - Throws: ``HTTPError/tls(_:)`` when the connection is refused.
    func credential(for challenge: URLAuthenticationChallenge) throws(HTTPError) -> URLCredential? {
      let space = challenge.protectionSpace
      switch space.authenticationMethod {
      case NSURLAuthenticationMethodServerTrust:
        guard let trust = space.serverTrust, authorities != nil || !pins.isEmpty else { return nil }
        try check(trust)
        return URLCredential(trust: trust)
      case NSURLAuthenticationMethodClientCertificate:
        guard let clientCertificate else { return nil }
        guard let identity = identity(clientCertificate.content, clientCertificate.password) else {
          throw .tls(.clientCertificate)
        }
        return URLCredential(identity: identity, certificates: nil, persistence: .forSession)
      default:
        guard space.isProxy(), let proxyUser, challenge.previousFailureCount == 0 else { return nil }
        return URLCredential(user: proxyUser.name, password: proxyUser.password, persistence: .forSession)
      }
    }

    private func check(_ trust: SecTrust) throws(HTTPError) {
      if let authorities {
        let anchors = authorities.compactMap { SecCertificateCreateWithData(nil, $0.der as CFData) }
        guard SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
          SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
        else { throw .tls(.untrustedCertificate) }
      }
      var error: CFError?
      guard SecTrustEvaluateWithError(trust, &error) else { throw .tls(Self.failure(error)) }
      if !pins.isEmpty {
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate]
        let pin = chain?.first.flatMap { Certificate(der: SecCertificateCopyData($0) as Data).pin }
        guard let pin, pins.contains(pin) else { throw .tls(.pinMismatch) }
      }
    }

    private static func failure(_ error: CFError?) -> HTTPTLSFailure {
      switch error.map({ OSStatus(truncatingIfNeeded: CFErrorGetCode($0)) }) {
      case errSecCertificateExpired, errSecCertificateNotValidYet: .expiredCertificate
      case errSecHostNameMismatch: .wrongHost
      default: .untrustedCertificate
      }
    }

    private func identity(_ content: Data?, _ password: String) -> SecIdentity? {
      var items: CFArray?
      let options = [kSecImportExportPassphrase as String: password] as CFDictionary
      guard let content, SecPKCS12Import(content as CFData, options, &items) == errSecSuccess,
        let found = (items as? [[String: Any]])?.first?[kSecImportItemIdentity as String] as CFTypeRef?,
        CFGetTypeID(found) == SecIdentityGetTypeID()
      else { return nil }
      // Safety: its type was checked in the line above; Swift has no conditional cast to a type of Core Foundation.
      return unsafeDowncast(found, to: SecIdentity.self)
    }
  }

  extension HTTPProxy {
    /// The proxy as URLSession's configuration has it; nil for the system's.
    var connectionProxyDictionary: [AnyHashable: Any]? {
      switch kind {
      case .system: return nil
      case .none: return [:]
      case .server(let url, let hosts):
        // The names of the keys for HTTPS and for exceptions have constants on macOS alone.
        let host = url.host(percentEncoded: false) ?? ""
        let port = url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80)
        return [
          "HTTPEnable": true, "HTTPProxy": host, "HTTPPort": port, "HTTPSEnable": true, "HTTPSProxy": host,
          "HTTPSPort": port, "ExceptionsList": hosts.flatMap { [$0, "*." + $0] },
        ]
      }
    }
  }
#endif

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
  ///
  /// That is the seventh element of the inner sequence (RFC 5280, section 4.1), or the sixth where the version is omitted.
  var pin: String? {
    guard let outer = Self.element(der)?.content, var rest = Self.element(outer)?.content else { return nil }
    let version: UInt8 = 0xA0
    for _ in 0..<(rest.first == version ? 6 : 5) {
      guard let whole = Self.element(rest)?.whole else { return nil }
      rest = rest[whole.endIndex...]
    }
    guard let key = Self.element(rest)?.whole else { return nil }
    var hash = SHA256()
    hash.update(Array(key))
    return Data(hash.digest()).base64EncodedString()
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
