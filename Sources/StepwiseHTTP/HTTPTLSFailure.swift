// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a connection cannot be secured.
public enum HTTPTLSFailure: Sendable, Hashable {
  /// The server's certificate is self-signed, or of an authority that is not trusted here.
  case untrustedCertificate

  /// The server's certificate has expired, or is not valid yet.
  case expiredCertificate

  /// The server's certificate is for another host.
  case wrongHost

  /// The server's public key is none of the pinned ones.
  case pinMismatch

  /// The server asks for a client certificate, or does not accept the one it got, or that cannot be read.
  case clientCertificate

  /// Client and server have no protocol in common, or one of them broke off.
  case handshake
}

extension HTTPTLSFailure: CustomStringConvertible {
  /// What went wrong and what to do about it, in one line.
  public var description: String {
    switch self {
    case .untrustedCertificate:
      "the server's certificate is self-signed or of an unknown authority; add the authority's file to `HTTPTLSSettings`"
    case .expiredCertificate:
      "the server's certificate has expired or is not valid yet; check the clock of this machine"
    case .wrongHost: "the server's certificate is for another host"
    case .pinMismatch: "the server's public key is none of the pinned ones"
    case .clientCertificate:
      "the client certificate is missing, unreadable or not accepted; check the one in `HTTPTLSSettings`"
    case .handshake: "the TLS handshake failed; check that the port speaks TLS"
    }
  }
}
