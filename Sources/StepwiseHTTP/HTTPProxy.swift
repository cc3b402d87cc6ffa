// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// The proxy of a session.
public struct HTTPProxy: Sendable {
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

  /// A proxy.
  ///
  /// - Parameters:
  ///   - url: Its URL, such as `http://proxy.example:3128`. A user name and password in it are sent only to the proxy.
  ///   - hosts: The hosts that are reached without the proxy, including their subdomains.
  /// - Returns: The proxy.
  public static func server(_ url: URL, bypassing hosts: [String] = []) -> HTTPProxy {
    HTTPProxy(kind: .server(url, bypassing: hosts))
  }
}

extension HTTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind, without the URL, which may contain a password.
  public var description: String {
    switch kind {
    case .system: "HTTPProxy(system)"
    case .none: "HTTPProxy(none)"
    case .server: "HTTPProxy(server)"
    }
  }

  /// The kind, without the URL, which may contain a password.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
