// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// Which redirects a request follows; at most ten in any case.
///
/// Use `never` if you want to see the redirect yourself. A redirect that is not followed is returned as the response,
/// with its body.
public struct HTTPRedirects: Sendable {
  fileprivate let isFollowed: @Sendable (HTTPRedirect) -> Bool

  /// Follows all redirects.
  public static var follow: HTTPRedirects { HTTPRedirects { _ in true } }

  /// Follows no redirect.
  public static var never: HTTPRedirects { HTTPRedirects { _ in false } }

  /// Follows the redirects that a closure accepts.
  ///
  /// ```swift
  /// let response = try await HTTP.get(url, redirects: .decide { $0.isSameOrigin })
  /// ```
  ///
  /// It is called once for each redirect, within the request's Task.
  public static func decide(_ isFollowed: @escaping @Sendable (HTTPRedirect) -> Bool) -> HTTPRedirects {
    HTTPRedirects(isFollowed: isFollowed)
  }
}

/// A redirect that a server requests, for a closure that decides whether to follow it.
///
/// Return false for a ``target`` that you do not trust.
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

  /// A Boolean value that indicates whether scheme, host and port stay the same.
  ///
  /// If so, credentials are sent along.
  public var isSameOrigin: Bool { HTTPRequest.origin(of: url) == HTTPRequest.origin(of: target) }
}

extension HTTPRedirect: HTTPConcealed {
  /// The status; URLs may contain secrets.
  public var description: String { "HTTPRedirect(\(status))" }
}

extension HTTPRequest {
  /// The header fields that are sent to another origin; any other may identify the user.
  private static let harmless: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-encoding",
    "content-language", "content-type", "if-match", "if-modified-since", "if-none-match", "if-range",
    "if-unmodified-since", "pragma", "range", "user-agent",
  ]

  /// Returns the request that follows a response, by the rules of this one; nil when none does.
  func next(after head: HTTPResponseHead) -> HTTPRequest? {
    guard let next = redirected(by: head) else { return nil }
    let (status, headers) = (head.status, head.headers)
    let redirect = HTTPRedirect(status: status, headers: headers, url: url, target: next.url, method: next.method)
    return redirects?.isFollowed(redirect) ?? true ? next : nil
  }

  /// Returns the request that a response redirects to; nil when it is not a redirect.
  ///
  /// A 303, and a 301 or 302 to a POST, is followed by a GET without the body. Another scheme, host or port is another
  /// origin: header fields that may be credentials are removed, also for later redirects. The jar is used for another
  /// host, which has its own cookies, but not for another port or scheme of the same host: a jar does not distinguish
  /// these.
  func redirected(by head: HTTPResponseHead) -> HTTPRequest? {
    guard [301, 302, 303, 307, 308].contains(head.status), let location = head.headers["Location"],
      let target = URL(string: location, relativeTo: url), let (address, _) = Self.address(target)
    else { return nil }
    var next = self
    next.url = address
    let becomesGet = head.status == 303 ? method != "HEAD" : method == "POST" && head.status < 303
    if becomesGet {
      next.method = "GET"
      next.body = nil
      next.upload = nil
      next.headers.keepOnly { !$0.hasPrefix("content-") }
    }
    if Self.origin(of: address) != Self.origin(of: url) {
      next.headers.keepOnly { Self.harmless.contains($0) }
      next.usesJar = address.host?.lowercased() != url.host?.lowercased()
    }
    return next
  }

  /// The scheme, host and port of an absolute URL of HTTP, without the user's name.
  static func origin(of url: URL) -> String {
    let scheme = url.scheme?.lowercased() ?? ""
    let host = url.host?.lowercased() ?? ""
    return "\(scheme)://\(host):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }
}
