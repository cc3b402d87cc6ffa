// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A request of a client, for its interceptor.
public struct HTTPRequest: Sendable {
  /// The method, such as `GET`.
  public var method: String

  /// The absolute URL, with the query.
  public var url: URL

  /// The header fields, with those of the client and its credentials.
  public var headers: HTTPHeaders

  /// The body; nil for none.
  public var body: HTTPBody?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - url: The absolute URL.
  ///   - headers: The header fields.
  ///   - body: The body; nil for none.
  public init(method: String = "GET", url: URL, headers: HTTPHeaders = [:], body: HTTPBody? = nil) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
  }
}

extension HTTPRequest {
  init(_ request: OutgoingRequest) {
    self.init(method: request.method, url: request.url, headers: request.headers)
    guard !request.body.isNone else { return }
    body = HTTPBody(request.body, type: headers["Content-Type"] ?? "", isRepeatable: request.isRepeatable)
  }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
  /// The method; a URL may contain secrets.
  public var description: String { "HTTPRequest(\(method))" }

  /// A mirror that contains only the method.
  public var customMirror: Mirror { Mirror(self, children: ["method": method]) }
}
