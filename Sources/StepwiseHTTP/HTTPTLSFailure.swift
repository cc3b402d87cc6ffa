// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The reason why a connection cannot be secured.
///
/// Further cases may be added, so end a `switch` over it with `default`.
public enum HTTPTLSFailure: Sendable, Hashable {
  /// The server's certificate is self-signed, or of an untrusted authority.
  case untrustedCertificate

  /// The server's certificate has expired, or is not valid yet.
  case expiredCertificate

  /// The server's certificate is for another host.
  case wrongHost

  /// The server's public key does not match any pin.
  case pinMismatch

  /// The server requests a client certificate, or rejects the one that it received, or the certificate cannot be read.
  case clientCertificate

  /// Client and server have no protocol in common, or one of them ended the handshake.
  case handshake
}

extension HTTPTLSFailure: CustomStringConvertible {
  /// What went wrong and how to fix it, in one line.
  public var description: String {
    switch self {
    case .untrustedCertificate:
      "the server's certificate is self-signed or of an unknown authority; add the authority's file to `HTTPTLSSettings`"
    case .expiredCertificate:
      "the server's certificate has expired or is not valid yet; check the clock of this machine"
    case .wrongHost: "the server's certificate is for another host"
    case .pinMismatch: "the server's public key does not match any pin"
    case .clientCertificate:
      "the client certificate is missing, unreadable or not accepted; check the one in `HTTPTLSSettings`"
    case .handshake: "the TLS handshake failed; check that the port speaks TLS"
    }
  }
}
