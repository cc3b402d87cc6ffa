// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A type that provides the URL of a request: `URL`, or `String`.
public protocol HTTPAddress: Sendable {
  /// Returns the URL.
  ///
  /// - Throws: ``HTTPError/invalidURL`` when the value is not a URL.
  func httpURL() throws(HTTPError) -> URL
}

extension URL: HTTPAddress {
  /// Returns the URL itself; the request checks whether it can be used.
  public func httpURL() throws(HTTPError) -> URL { self }
}

extension String: HTTPAddress {
  /// Returns the URL that this text spells.
  ///
  /// - Throws: ``HTTPError/invalidURL`` when the text is not a URL.
  public func httpURL() throws(HTTPError) -> URL {
    guard let url = URL(string: self) else { throw .invalidURL }
    return url
  }
}
