// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The part of a response before its body.
public struct HTTPResponseHead: Sendable {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields, one per line where the transport can distinguish them.
  public let headers: HTTPHeaders

  /// Creates a head.
  public init(status: Int, headers: HTTPHeaders = [:]) {
    self.status = status
    self.headers = headers
  }

  /// The length of the body, if it is known; it is unknown when the transport decompresses the body.
  var length: Int64? {
    guard headers["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
    return headers["Content-Length"].flatMap { Int64($0) }
  }
}

extension HTTPResponseHead: CustomStringConvertible {
  /// The status.
  public var description: String { "HTTPResponseHead(\(status))" }
}
