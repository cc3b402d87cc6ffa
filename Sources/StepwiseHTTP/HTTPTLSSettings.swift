// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// Whom the connections of a session trust, and what they show of themselves, with libcurl, the transport of Linux.
///
/// The transport of Apple's platforms refuses every request of a session with settings other than the system's.
///
/// The pin of a server's public key is what this prints:
/// ```sh
/// openssl s_client -connect example.org:443 < /dev/null | openssl x509 -pubkey -noout |
///   openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
/// ```
public struct HTTPTLSSettings: Sendable {
  /// A file with a certificate and its private key.
  public struct ClientCertificate: Sendable {
    /// A PKCS #12 file.
    let file: URL
    let password: String

    /// Creates a client certificate from a PKCS #12 file (`.p12`, `.pfx`).
    ///
    /// - Parameters:
    ///   - file: The file, which has the certificate and its private key.
    ///   - password: What it is encrypted with; it is shown in no description.
    public init(pkcs12 file: URL, password: String) {
      self.file = file
      self.password = password
    }
  }

  /// A PEM file of certificate authorities, which are trusted in place of the system's; nil for the system's.
  public var certificateAuthorities: URL?

  /// The public keys that servers may have, each the Base64 of the SHA-256 of its `SubjectPublicKeyInfo`; empty for any.
  ///
  /// A pin comes on top of the other checks.
  public var pinnedPublicKeys: Set<String>

  /// What the session shows to servers that ask for it.
  public var clientCertificate: ClientCertificate?

  /// Creates settings; without arguments they are the system's.
  ///
  /// - Parameters:
  ///   - certificateAuthorities: A PEM file of the only authorities to trust.
  ///   - pinnedPublicKeys: The Base64 of the SHA-256 of each public key that servers may have.
  ///   - clientCertificate: What the session shows to servers that ask for it.
  public init(
    certificateAuthorities: URL? = nil,
    pinnedPublicKeys: Set<String> = [],
    clientCertificate: ClientCertificate? = nil
  ) {
    self.certificateAuthorities = certificateAuthorities
    self.pinnedPublicKeys = pinnedPublicKeys
    self.clientCertificate = clientCertificate
  }
}

extension HTTPTLSSettings.ClientCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Says that this is a certificate, and not which.
  public var description: String { "ClientCertificate(hidden)" }

  /// Says that this is a certificate, and not which.
  public var debugDescription: String { description }

  /// Shows nothing of what is inside.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
