// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Which redirects a request follows; at most ten in any case.
///
/// A redirect that is not followed is returned as the response, with its body.
public struct HTTPRedirects: Sendable {
  enum Kind: Sendable {
    case follow
    case never
    case decide(@Sendable (HTTPRedirect) -> Bool)
  }

  let kind: Kind

  /// Follows all redirects.
  public static var follow: HTTPRedirects { HTTPRedirects(kind: .follow) }

  /// Follows no redirect.
  public static var never: HTTPRedirects { HTTPRedirects(kind: .never) }

  /// Follows the redirects that a closure accepts.
  ///
  /// ```swift
  /// let response = try await HTTP.get(url, redirects: .decide { $0.isSameOrigin })
  /// ```
  ///
  /// - Parameter isFollowed: Returns whether a redirect is followed; called once for each, within the request's Task.
  /// - Returns: The rule.
  public static func decide(_ isFollowed: @escaping @Sendable (HTTPRedirect) -> Bool) -> HTTPRedirects {
    HTTPRedirects(kind: .decide(isFollowed))
  }
}
