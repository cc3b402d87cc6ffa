// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

extension HTTPClient {
  /// Returns the URL of a path below the base URL, even if the path starts with a slash.
  ///
  /// Dot segments are resolved here, because the transport would resolve them against the base's own path.
  ///
  /// - Throws: ``HTTPError/refused(reason:)`` when the path leads above the base.
  func url(_ path: String) throws(HTTPError) -> URL {
    guard var parts = URLComponents(url: baseURL, resolvingAgainstBaseURL: true) else { throw .invalidURL }
    let pieces = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    if let name = pieces.first?.drop(while: { $0 == "/" }), !name.isEmpty {
      let base = parts.percentEncodedPath
      let resolved = try Self.withoutDotSegments(Self.encoded(name, .urlPathAllowed))
      parts.percentEncodedPath = (base.hasSuffix("/") ? base : base + "/") + resolved
    }
    if pieces.count > 1 {
      let before = parts.percentEncodedQuery.map { $0 + "&" } ?? ""
      parts.percentEncodedQuery = before + Self.encoded(pieces[1], .urlQueryAllowed)
    }
    guard let url = parts.url else { throw .invalidURL }
    return url
  }

  /// Resolves `.` and `..` as RFC 3986, section 5.2.4, defines, even if they are percent-encoded.
  private static func withoutDotSegments(_ path: String) throws(HTTPError) -> String {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    var kept: [Substring] = []
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment.lowercased().replacingOccurrences(of: "%2e", with: ".") {
      case ".":
        if isLast { kept.append("") }
      case "..":
        guard kept.popLast() != nil else {
          throw .refused(reason: "the path leads above the client's base URL; use a client with a shorter base URL")
        }
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return kept.joined(separator: "/")
  }

  /// Encodes what is not encoded yet; a percent sign that encodes nothing represents itself.
  private static func encoded(_ text: Substring, _ allowed: CharacterSet) -> String {
    // Foundation encodes a colon in a possible first segment; here no segment is the first.
    let allowed = allowed.union(CharacterSet(charactersIn: ":"))
    func encode(_ text: Substring) -> String { text.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
    let pieces = text.split(separator: "%", omittingEmptySubsequences: false)
    return pieces.dropFirst().reduce(encode(pieces.first ?? "")) { before, piece in
      let digits = piece.prefix(2)
      let isEncoded = digits.count == 2 && digits.allSatisfy { $0.isASCII && $0.isHexDigit }
      return before + (isEncoded ? "%" : "%25") + encode(piece)
    }
  }
}
