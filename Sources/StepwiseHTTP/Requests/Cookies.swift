// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPCookieStorage {
  /// Returns the value of the header `Cookie` for a request.
  func header(for request: HTTPRequest) -> String? {
    guard request.usesJar else { return nil }
    let now = Date()
    let cookies = (cookies(for: request.url) ?? []).filter { $0.maySend(to: request.url, at: now) }
    return cookies.isEmpty ? nil : HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
  }

  /// Stores the cookies of a response, and removes those that it ends.
  func keepCookies(of head: HTTPResponseHead, from url: URL) {
    let now = Date()
    let received = head.headers.values("Set-Cookie").flatMap { HTTPCookie.cookies(header: $0, from: url, at: now) }
    for cookie in received {
      if let end = cookie.expiresDate, end <= now {
        let isSame = { (other: HTTPCookie) in
          other.name == cookie.name && other.domain == cookie.domain && other.path == cookie.path
        }
        for old in (cookies ?? []).filter(isSame) { deleteCookie(old) }
      } else {
        setCookies([cookie], for: url, mainDocumentURL: nil)
      }
    }
  }
}

extension HTTPCookie {
  /// Returns whether a cookie of the host may be sent to a URL there, as RFC 6265 defines.
  ///
  /// The jar on Linux checks only the host.
  func maySend(to url: URL, at now: Date) -> Bool {
    if isSecure, url.scheme != "https" { return false }
    if let expiresDate, expiresDate <= now { return false }
    let target = url.path(percentEncoded: true)
    return target == path || target.hasPrefix(path.hasSuffix("/") ? path : path + "/")
  }

  /// Returns the cookies of a header `Set-Cookie`, with `Max-Age` applied on every system.
  ///
  /// Foundation ignores it on Linux. Where the transport joins the lines of several cookies, it is unknown which one it
  /// belongs to, and Foundation's result is kept.
  static func cookies(header: String, from url: URL, at now: Date) -> [HTTPCookie] {
    let cookies = HTTPCookie.cookies(withResponseHeaderFields: ["Set-Cookie": header], for: url)
    guard cookies.count == 1, let cookie = cookies.first, let age = maximumAge(header),
      var properties = cookie.properties
    else { return cookies }
    properties[.maximumAge] = nil
    properties[.discard] = nil
    properties[.expires] = age <= 0 ? Date(timeIntervalSince1970: 0) : now.addingTimeInterval(Double(age))
    return HTTPCookie(properties: properties).map { [$0] } ?? cookies
  }

  /// Returns the last `Max-Age`, in seconds; nil when there is none, or when it is not a number.
  private static func maximumAge(_ header: String) -> Int64? {
    let values = header.split(separator: ";").dropFirst().compactMap { attribute -> Int64? in
      let parts = attribute.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      guard parts.count == 2, parts[0].lowercased() == "max-age", let first = parts[1].utf8.first else { return nil }
      let digits = parts[1].dropFirst(first == UInt8(ascii: "-") ? 1 : 0)
      guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
        return nil
      }
      // A value that does not fit counts as a century.
      return first == UInt8(ascii: "-") ? 0 : min(Int64(digits) ?? .max, 3_153_600_000)
    }
    return values.last
  }
}
