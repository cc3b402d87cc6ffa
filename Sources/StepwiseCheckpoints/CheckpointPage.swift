// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A page of the ids under which a store holds a record.
public struct CheckpointPage: Sendable, Hashable {
  /// The ids, ordered by their UTF-8.
  public let ids: [String]

  /// A Boolean value that indicates whether there are further ids, which `list(after: ids.last, …)` returns.
  public let hasMore: Bool

  /// Creates a page.
  ///
  /// - Parameters:
  ///   - ids: The ids, ordered by their UTF-8.
  ///   - hasMore: Whether there are further ids.
  public init(ids: [String], hasMore: Bool) {
    self.ids = ids
    self.hasMore = hasMore
  }

  /// Creates the page of a store that knows all of its ids.
  init(of all: [String], after last: String?, limit: Int) {
    let sorted = all.sorted(by: Self.precedes)
    let rest = last.map { last in sorted.filter { Self.precedes(last, $0) } } ?? sorted
    self.init(ids: Array(rest.prefix(max(1, limit))), hasMore: rest.count > max(1, limit))
  }

  private static func precedes(_ one: String, _ other: String) -> Bool {
    one.utf8.lexicographicallyPrecedes(other.utf8)
  }
}
