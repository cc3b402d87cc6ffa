// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

extension OutgoingRequest {
  /// The header fields that are sent to another origin; any other may identify the user.
  private static let harmless: Set<String> = [
    "accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "content-encoding",
    "content-language", "content-type", "if-match", "if-modified-since", "if-none-match", "if-range",
    "if-unmodified-since", "pragma", "range", "user-agent",
  ]

  /// Returns the request that a response redirects to; nil when it is not a redirect.
  ///
  /// A 303, and a 301 or 302 to a POST, is followed by a GET without the body. Another scheme, host or port is another
  /// origin: header fields that may be credentials are removed, also for later redirects. The jar is used for another
  /// host, which has its own cookies, but not for another port or scheme of the same host: a jar does not distinguish
  /// these.
  func redirected(by head: HTTPResponseHead) -> OutgoingRequest? {
    guard [301, 302, 303, 307, 308].contains(head.status), let location = head.headers["Location"],
      let target = URL(string: location, relativeTo: url), let (address, _) = Self.address(target)
    else { return nil }
    var next = self
    next.url = address
    let becomesGet = head.status == 303 ? method != "HEAD" : method == "POST" && head.status < 303
    if becomesGet {
      next.method = "GET"
      next.body = .none
      next.upload = nil
      next.headers.keepOnly { !$0.hasPrefix("content-") }
    }
    if Self.origin(of: address) != Self.origin(of: url) {
      next.headers.keepOnly { Self.harmless.contains($0) }
      next.usesJar = address.host?.lowercased() != url.host?.lowercased()
    }
    return next
  }

  static func origin(of url: URL) -> String {
    let scheme = url.scheme?.lowercased() ?? ""
    return "\(scheme)://\(url.host?.lowercased() ?? ""):\(url.port ?? (scheme == "https" ? 443 : 80))"
  }
}
