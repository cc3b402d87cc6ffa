// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A request as a transport sends it: checked, without a fragment, and with cookies and credentials in its headers.
public struct HTTPTransferRequest: Sendable {
  /// The method, such as `GET`.
  public var method: String

  /// The absolute URL, of `http` or `https`, without a user name, password and fragment.
  public var url: URL

  /// The header fields, in order; several of one name are sent as several lines.
  public var headers: HTTPHeaders

  /// The body.
  public var body: HTTPTransferBody

  /// The maximum number of bytes of the response's head; more is ``HTTPError/headersTooLarge(limit:)``.
  public var headerLimit: Int

  /// Called with the number of bytes of the body sent so far, on a thread of the transport.
  ///
  /// It is called as the network accepts them, in order, and must return quickly.
  public var onSend: (@Sendable (_ sentBytes: Int64) -> Void)?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - url: The absolute URL.
  ///   - headers: The header fields.
  ///   - body: The body.
  ///   - headerLimit: The maximum number of bytes of the response's head.
  ///   - onSend: Called with the number of bytes of the body sent so far.
  public init(
    method: String = "GET",
    url: URL,
    headers: HTTPHeaders = [:],
    body: HTTPTransferBody = .none,
    headerLimit: Int = 256 * 1024,
    onSend: (@Sendable (_ sentBytes: Int64) -> Void)? = nil
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.headerLimit = headerLimit
    self.onSend = onSend
  }
}
