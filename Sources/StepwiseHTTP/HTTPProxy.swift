// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// What stands between a session and the servers.
public struct HTTPProxy: Sendable {
  enum Kind: Sendable {
    case system
    case none
    case server(URL, bypassing: [String])
  }

  let kind: Kind

  /// What the system says: the variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` on Linux, read as curl reads
  /// them, and the settings of the network on Apple's platforms.
  public static var system: HTTPProxy { HTTPProxy(kind: .system) }

  /// Nothing: also when the system says otherwise.
  public static var none: HTTPProxy { HTTPProxy(kind: .none) }

  /// A proxy.
  ///
  /// - Parameters:
  ///   - url: Its URL, such as `http://proxy.example:3128`. A user name and password in it are sent to it alone.
  ///   - hosts: The hosts that are reached without it, each with those below it.
  /// - Returns: The proxy.
  public static func server(_ url: URL, bypassing hosts: [String] = []) -> HTTPProxy {
    HTTPProxy(kind: .server(url, bypassing: hosts))
  }
}

extension HTTPProxy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// What kind it is, without the URL, which may hold a password.
  public var description: String {
    switch kind {
    case .system: "HTTPProxy(system)"
    case .none: "HTTPProxy(none)"
    case .server: "HTTPProxy(server)"
    }
  }

  /// What kind it is, without the URL, which may hold a password.
  public var debugDescription: String { description }

  /// Shows nothing of what is inside.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
