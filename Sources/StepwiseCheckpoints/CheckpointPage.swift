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
  init(of all: [CheckpointID], after last: String?, limit: Int) {
    let last = Array((last ?? "").utf8)
    // No id is empty, so that each follows the empty one.
    let rest = all.filter { last.lexicographicallyPrecedes($0.bytes) }.sorted()
    self.init(ids: rest.prefix(max(1, limit)).map(\.text), hasMore: rest.count > max(1, limit))
  }
}
