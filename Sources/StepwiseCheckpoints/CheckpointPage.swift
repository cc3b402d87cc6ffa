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

  /// Creates the page of a store that knows all of its ids, in any order, without sorting all of them.
  init(of all: some Sequence<CheckpointID>, after last: String?, limit: Int) {
    let limit = max(1, min(limit, .max / 4))
    // No id is empty, so that each follows the empty one.
    let last = Array((last ?? "").utf8)
    // The smallest ids so far, of which one more than the limit is needed.
    var smallest: [CheckpointID] = []
    var bound: CheckpointID?
    for id in all where last.lexicographicallyPrecedes(id.bytes) && bound.map({ id < $0 }) ?? true {
      smallest.append(id)
      guard smallest.count > 2 * limit else { continue }
      smallest.sort()
      smallest.removeLast(smallest.count - limit - 1)
      bound = smallest.last
    }
    smallest.sort()
    self.init(ids: smallest.prefix(limit).map(\.text), hasMore: smallest.count > limit)
  }

  /// Creates the page of a store that has its ids in order.
  init(ofSorted all: [CheckpointID], after last: String?, limit: Int) {
    let last = Array((last ?? "").utf8)
    var range = all.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      let follows = last.lexicographicallyPrecedes(all[middle].bytes)
      range = follows ? range.lowerBound..<middle : (middle + 1)..<range.upperBound
    }
    let rest = all[range.lowerBound...]
    self.init(ids: rest.prefix(max(1, limit)).map(\.text), hasMore: rest.count > max(1, limit))
  }
}
