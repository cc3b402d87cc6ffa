// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The requests that a handler answers.
struct HTTPStubRoute: Sendable {
  let method: String
  let path: String
  let handler: HTTPStub.Handler

  func matches(_ method: String, _ path: String) -> Bool {
    (self.method == "*" || self.method == method) && Self.matches(self.path, path)
  }

  /// Returns whether a path matches a pattern, in which `*` stands for any characters.
  static func matches(_ pattern: String, _ path: String) -> Bool {
    let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
    guard let first = parts.first, let last = parts.last, parts.count > 1 else { return pattern == path }
    guard path.hasPrefix(first), path.dropFirst(first.count).hasSuffix(last) else { return false }
    var rest = path.dropFirst(first.count).dropLast(last.count)
    // The shortest match of each part leaves the most for the following ones.
    for part in parts.dropFirst().dropLast() where !part.isEmpty {
      guard let found = rest.firstRange(of: part) else { return false }
      rest = rest[found.upperBound...]
    }
    return true
  }
}
