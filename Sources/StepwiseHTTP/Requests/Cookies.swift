// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPCookieStorage {
  /// Returns the value of the header `Cookie` for a request.
  func header(for request: HTTPRequest) -> String? {
    guard request.usesJar, request.headers["Cookie"] == nil else { return nil }
    let now = Date()
    let cookies = (cookies(for: request.url) ?? []).filter { $0.maySend(to: request.url, at: now) }
    return cookies.isEmpty ? nil : HTTPCookie.requestHeaderFields(with: cookies)["Cookie"]
  }

  /// Stores the cookies of a response, and removes those that it ends.
  ///
  /// It takes at most 50 of a response, like curl, and none once `isEnded` returns true.
  func keepCookies(of head: HTTPResponseHead, from url: URL, unless isEnded: () -> Bool = { false }) {
    let now = Date()
    var count = 0
    for line in head.headers.values("Set-Cookie") {
      guard count < 50, !isEnded() else { return }
      guard let cookie = HTTPCookie.received(line, from: url, at: now) else { continue }
      count += 1
      if let end = cookie.expiresDate, end <= now {
        for old in cookies ?? [] where (old.name, old.domain, old.path) == (cookie.name, cookie.domain, cookie.path) {
          deleteCookie(old)
        }
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

  /// Returns the lines of a header `Set-Cookie` that URLSession has joined.
  ///
  /// A comma within a date or a value usually does not precede a name; where it does, the value is divided.
  static func separated(_ header: String) -> [String] {
    // A pattern that divided a run of spaces in each possible way would take minutes for a long one.
    header.split(separator: /,(?=[ \t]*+[^=;, \t]*+[ \t]*+=)/).map(String.init)
  }

  /// Returns the cookie of a line `Set-Cookie`, as RFC 6265 reads it, with the prefixes and limits of its successor; nil
  /// for one that the URL's host must not set.
  static func received(_ line: String, from url: URL, at now: Date) -> HTTPCookie? {
    guard !line.hasControlCharacter else { return nil }
    let parts = line.split(separator: ";", omittingEmptySubsequences: false).map { part in
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return pair.map { $0.trimmingCharacters(in: .whitespaces) }
    }
    guard parts[0].count == 2, !parts[0][0].isEmpty, let host = url.host?.lowercased() else { return nil }
    guard parts[0][0].utf8.count + parts[0][1].utf8.count <= 4096 else { return nil }
    var properties: [HTTPCookiePropertyKey: Any] = [.name: parts[0][0], .value: parts[0][1]]
    var (domain, path, end): (String?, String?, Date?)
    var hasAge = false
    for part in parts.dropFirst() {
      let text = part.count > 1 ? part[1] : ""
      switch part[0].lowercased() {
      case "secure": properties[.secure] = "TRUE"
      case "domain": domain = text.hasPrefix(".") ? String(text.lowercased().dropFirst()) : text.lowercased()
      case "path": path = text.hasPrefix("/") ? text : nil
      case "expires" where !hasAge: end = HTTPDate.parse(text) ?? end
      case "max-age":
        guard let age = age(text) else { continue }
        (end, hasAge) = (age == 0 ? Date(timeIntervalSince1970: 0) : now + Double(age), true)
      default: break
      }
    }
    if domain?.isEmpty ?? false { domain = nil }
    let prefix = parts[0][0].lowercased()
    let isSafe = properties[.secure] != nil && url.scheme == "https"
    if prefix.hasPrefix("__secure-"), !isSafe { return nil }
    if prefix.hasPrefix("__host-"), !isSafe || domain != nil || path != "/" { return nil }
    guard let found = Self.domain(domain, of: host) else { return nil }
    (properties[.domain], properties[.path], properties[.expires]) = (found, path ?? defaultPath(url), end)
    return HTTPCookie(properties: properties)
  }

  /// Returns the domain of a cookie; nil when its host must not set it.
  private static func domain(_ domain: String?, of host: String) -> String? {
    guard let domain, domain != host || !isAddress(host) else { return host }
    guard domain == host || host.hasSuffix("." + domain) && !isAddress(host) else { return nil }
    #if canImport(Darwin)
      // The system's jar knows the public suffixes.
      return "." + domain
    #else
      // Without the list, no domain is known not to be a public suffix.
      guard let isPublic = isPublicSuffix(domain) else { return host }
      return isPublic ? domain == host ? host : nil : "." + domain
    #endif
  }

  private static func isAddress(_ host: String) -> Bool {
    host.contains(":") || host.split(separator: ".").last?.allSatisfy { $0.isASCII && $0.isNumber } ?? false
  }

  /// As section 5.1.4 of RFC 6265 defines it.
  private static func defaultPath(_ url: URL) -> String {
    let path = url.path(percentEncoded: true)
    guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// Returns an age in seconds; nil when it is not a number.
  private static func age(_ text: String) -> Int64? {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
    // A value that does not fit counts as a century.
    return text.hasPrefix("-") ? 0 : min(Int64(digits) ?? .max, 3_153_600_000)
  }

  #if !canImport(Darwin)
    private static let suffixes: (@convention(c) () -> UnsafeRawPointer?)? =
      systemFunction("psl_builtin", in: "libpsl.so.5")
    private static let isSuffix: (@convention(c) (UnsafeRawPointer, UnsafePointer<CChar>) -> Int32)? =
      systemFunction("psl_is_public_suffix", in: "libpsl.so.5")

    /// Returns whether anyone can register under a domain, such as `com` and `github.io`, by the system's libpsl; nil
    /// where there is none.
    private static func isPublicSuffix(_ domain: String) -> Bool? {
      guard let list = suffixes?(), let isSuffix else { return nil }
      return isSuffix(list, domain) != 0
    }
  #endif
}
