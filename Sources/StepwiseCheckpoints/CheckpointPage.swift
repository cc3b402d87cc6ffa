// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Some of the ids that a store keeps something under.
public struct CheckpointPage: Sendable, Hashable {
  /// The ids, in the order of their UTF-8.
  public let ids: [String]

  /// Whether there are further ids, which `list(after: ids.last, …)` gives.
  public let hasMore: Bool

  /// Makes a page.
  ///
  /// - Parameters:
  ///   - ids: The ids, in the order of their UTF-8.
  ///   - hasMore: Whether there are further ids.
  public init(ids: [String], hasMore: Bool) {
    self.ids = ids
    self.hasMore = hasMore
  }

  /// The page of a store that knows all of its ids.
  init(of all: [String], after last: String?, limit: Int) {
    let sorted = all.sorted(by: Self.precedes)
    let rest = last.map { last in sorted.filter { Self.precedes(last, $0) } } ?? sorted
    self.init(ids: Array(rest.prefix(max(1, limit))), hasMore: rest.count > max(1, limit))
  }

  private static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }
}
