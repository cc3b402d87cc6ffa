// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Elements by rank, highest first, and within a rank in order of insertion.
///
/// Each element is removable by its key in constant time. There are as many lists as ranks, which are few.
struct RankedSlots<Element> {
  struct Key: Sendable {
    fileprivate let rank: Int
    fileprivate let slot: OrderedSlots<Element>.Key
  }

  private struct Level {
    let rank: Int
    var slots = OrderedSlots<Element>()
  }

  /// The lists by rank, highest last.
  ///
  /// Empty lists stay for reuse.
  private var levels: [Level] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ element: Element, rank: Int) -> Key {
    var index = levels.count
    while index > 0, levels[index - 1].rank > rank { index -= 1 }
    if index == 0 || levels[index - 1].rank != rank {
      levels.insert(Level(rank: rank), at: index)
      index += 1
    }
    count += 1
    return Key(rank: rank, slot: levels[index - 1].slots.append(element))
  }

  @discardableResult
  mutating func remove(_ key: Key) -> Element? {
    guard let index = levels.firstIndex(where: { $0.rank == key.rank }),
      let element = levels[index].slots.remove(key.slot)
    else { return nil }
    count -= 1
    return element
  }

  mutating func popFirst() -> Element? {
    guard let index = levels.lastIndex(where: { !$0.slots.isEmpty }) else { return nil }
    count -= 1
    return levels[index].slots.popFirst()
  }

  /// Removes all elements and returns them in order.
  mutating func removeAll() -> [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(count)
    while let element = popFirst() { elements.append(element) }
    return elements
  }
}
