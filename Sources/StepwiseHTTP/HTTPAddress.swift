// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// What a request can be sent to: a `URL`, or a `String` that spells one.
public protocol HTTPAddress: Sendable {
  /// The address as a URL.
  ///
  /// - Throws: ``HTTPError/invalidURL`` when it is none.
  func httpURL() throws(HTTPError) -> URL
}

extension URL: HTTPAddress {
  /// The URL itself; whether it can be sent to shows with the request.
  public func httpURL() throws(HTTPError) -> URL { self }
}

extension String: HTTPAddress {
  /// The URL that this text spells.
  ///
  /// - Throws: ``HTTPError/invalidURL`` when it is none.
  public func httpURL() throws(HTTPError) -> URL {
    guard let url = URL(string: self) else { throw .invalidURL }
    return url
  }
}
