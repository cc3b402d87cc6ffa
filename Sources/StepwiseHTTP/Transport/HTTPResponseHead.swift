// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What comes before the body of a response.
public struct HTTPResponseHead: Sendable {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields, each line its own where the transport can tell them apart.
  public let headers: HTTPHeaders

  /// Creates a head.
  public init(status: Int, headers: HTTPHeaders = [:]) {
    self.status = status
    self.headers = headers
  }

  /// The length of the body where it is known; it is not when the transport decompresses it.
  var length: Int64? {
    guard headers["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
    return headers["Content-Length"].flatMap { Int64($0) }
  }
}

extension HTTPResponseHead: CustomStringConvertible {
  /// The status alone.
  public var description: String { "HTTPResponseHead(\(status))" }
}
