// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The header `Content-Range`, which describes the range that a response contains.
struct ContentRange: Equatable {
  let start: Int64
  let end: Int64
  /// The length of the whole, where it is known.
  let total: Int64?

  init?(_ text: String?) {
    guard let text, text.lowercased().hasPrefix("bytes ") else { return nil }
    let parts = text.dropFirst(6).split(separator: "/")
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-").map { Int64($0) }
    guard ends.count == 2, let start = ends[0], let end = ends[1], 0 <= start, start <= end else { return nil }
    self.start = start
    self.end = end
    total = Int64(parts[1])
    guard parts[1] == "*" || (total ?? 0) > end else { return nil }
  }

  /// Returns the total length in a response of status 416, as in `bytes */300000`.
  static func total(ofUnsatisfied text: String?) -> Int64? {
    guard let text, text.lowercased().hasPrefix("bytes */") else { return nil }
    return Int64(text.dropFirst(8)).flatMap { $0 >= 0 ? $0 : nil }
  }
}
