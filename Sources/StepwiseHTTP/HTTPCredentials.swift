// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Credentials for a request, which appear in no description.
public struct HTTPCredentials: Sendable, Hashable {
  private enum Kind: Hashable {
    case basic(user: String, password: String)
    case bearer(String)
  }

  private let kind: Kind

  private init(_ kind: Kind) { self.kind = kind }

  /// A name and a password, sent as Basic authentication; use it over `https` only.
  ///
  /// - Parameters:
  ///   - user: The name. The request refuses a name with a colon, which cannot be sent.
  ///   - password: The password.
  /// - Returns: The credentials.
  public static func basic(user: String, password: String) -> HTTPCredentials {
    HTTPCredentials(.basic(user: user, password: password))
  }

  /// A token, sent as Bearer authentication.
  public static func bearer(_ token: String) -> HTTPCredentials { HTTPCredentials(.bearer(token)) }

  /// The value of the header `Authorization`.
  func authorization() throws(HTTPError) -> String {
    switch kind {
    case .basic(let user, _) where user.contains(":"):
      throw .refused(reason: "a user's name cannot have a colon in it")
    case .basic(let user, let password):
      return "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    case .bearer(let token):
      return "Bearer " + token
    }
  }
}

extension HTTPCredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A text without the credentials.
  public var description: String { "HTTPCredentials(hidden)" }

  /// A text without the credentials.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
