// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPSession {
  /// Returns the value of the header `Cookie` from the jar.
  func cookies(for request: OutgoingRequest) -> String? {
    guard request.usesJar, let jar else { return nil }
    let now = Date()
    let cookies = (jar.cookies(for: request.url) ?? []).filter { $0.maySend(to: request.url, at: now) }
    return cookies.isEmpty ? nil : HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
  }

  /// Stores the cookies of a response in the jar, and removes those that it ends.
  func keepCookies(of head: HTTPResponseHead, from url: URL) {
    guard let jar else { return }
    let now = Date()
    let cookies = head.headers.values("Set-Cookie").flatMap { HTTPCookie.cookies(header: $0, from: url, at: now) }
    for cookie in cookies {
      if let end = cookie.expiresDate, end <= now {
        let isSame = { (other: HTTPCookie) in
          other.name == cookie.name && other.domain == cookie.domain && other.path == cookie.path
        }
        for old in (jar.cookies ?? []).filter(isSame) { jar.deleteCookie(old) }
      } else {
        jar.setCookies([cookie], for: url, mainDocumentURL: nil)
      }
    }
  }
}
