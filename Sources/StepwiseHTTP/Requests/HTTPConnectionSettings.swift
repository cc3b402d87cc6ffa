// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// The trust settings and the client certificate of a session.
///
/// You need them for a server with a certificate of your company, a pinned key, or a client certificate. On Linux they
/// need libcurl: where it cannot be loaded, every request of a session with such settings is refused.
///
/// This prints the pin of a server's public key:
/// ```sh
/// openssl s_client -connect example.org:443 < /dev/null | openssl x509 -pubkey -noout |
///   openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
/// ```
public struct HTTPTLSSettings: Sendable {
  /// A file with a certificate and its private key.
  public struct ClientCertificate: Sendable, HTTPConcealed {
    /// A PKCS #12 file.
    let file: URL
    let password: String

    /// Creates a client certificate from a PKCS #12 file (`.p12`, `.pfx`) and the password that encrypts it.
    public init(pkcs12 file: URL, password: String) {
      self.file = file
      self.password = password
    }

    /// A text without the certificate.
    public var description: String { "ClientCertificate(hidden)" }
  }

  /// A PEM file of certificate authorities, which are trusted instead of the system's; nil for the system's.
  public var certificateAuthorities: URL?

  /// The allowed public keys of servers, each as the Base64 of the SHA-256 of its `SubjectPublicKeyInfo`; empty for
  /// any.
  ///
  /// Pins are checked in addition to the certificate.
  public var pinnedPublicKeys: Set<String>

  /// The certificate for servers that request one.
  public var clientCertificate: ClientCertificate?

  /// Creates settings; without arguments they are the system's.
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

/// The proxy of a session.
///
/// Requests use that of the system unless you choose another.
public struct HTTPProxy: Sendable, HTTPConcealed {
  enum Kind: Sendable {
    case system
    case none
    case server(URL, bypassing: [String])
  }

  let kind: Kind

  /// The system's proxy: the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` on Linux, interpreted
  /// like curl does, and the network settings on Apple's platforms.
  public static var system: HTTPProxy { HTTPProxy(kind: .system) }

  /// No proxy, regardless of the system's settings.
  public static var none: HTTPProxy { HTTPProxy(kind: .none) }

  /// A proxy, such as `http://proxy.example:3128`, whose user name and password are sent only to it.
  ///
  /// The user name and password cannot contain control characters.
  /// The hosts of the list, including their subdomains, are reached without the proxy.
  public static func server(_ url: URL, bypassing hosts: [String] = []) -> HTTPProxy {
    HTTPProxy(kind: .server(url, bypassing: hosts))
  }

  /// The kind, without the URL, which may contain a password.
  public var description: String {
    switch kind {
    case .system: "HTTPProxy(system)"
    case .none: "HTTPProxy(none)"
    case .server: "HTTPProxy(server)"
    }
  }
}
