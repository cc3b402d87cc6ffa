// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A redirect that a server requests, for a closure that decides whether to follow it.
public struct HTTPRedirect: Sendable {
  /// The status of the response, such as 302.
  public let status: Int

  /// The header fields of the response.
  public let headers: HTTPHeaders

  /// The URL that the response came from.
  public let url: URL

  /// The URL that the next request would be sent to.
  public let target: URL

  /// The method that the next request would have.
  public let method: String

  /// A Boolean value that indicates whether scheme, host and port stay the same, so that credentials are sent along.
  public var isSameOrigin: Bool { OutgoingRequest.origin(of: url) == OutgoingRequest.origin(of: target) }
}

extension HTTPRedirect: CustomStringConvertible, CustomReflectable {
  /// The status; URLs may contain secrets.
  public var description: String { "HTTPRedirect(\(status))" }

  /// A mirror that contains only the status.
  public var customMirror: Mirror { Mirror(self, children: ["status": status]) }
}
