// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Elements in order of insertion, each removable by its key in constant time.
///
/// A doubly linked list whose links are indices into one array. Memory follows the largest number of elements stored at
/// one time since the list was last empty. Keys are never reused, so the key of a removed element removes nothing.
package struct OrderedSlots<Element> {
  package struct Key: Hashable, Sendable {
    fileprivate let index: Int
    fileprivate let serial: UInt64
  }

  fileprivate struct Slot {
    var element: Element?
    var serial: UInt64
    var previous: Int
    var next: Int
  }

  private static var none: Int { -1 }

  private var slots: [Slot] = []
  private var head = Self.none
  private var tail = Self.none
  private var free = Self.none
  private var nextSerial: UInt64 = 0
  package private(set) var count = 0

  package init() {}

  package var isEmpty: Bool { count == 0 }

  package mutating func append(_ element: Element) -> Key {
    let serial = nextSerial
    nextSerial += 1
    let slot = Slot(element: element, serial: serial, previous: tail, next: Self.none)
    let index: Int
    if free != Self.none {
      index = free
      free = slots[index].next
      slots[index] = slot
    } else {
      index = slots.count
      slots.append(slot)
    }
    if tail != Self.none { slots[tail].next = index } else { head = index }
    tail = index
    count += 1
    return Key(index: index, serial: serial)
  }

  package subscript(key: Key) -> Element? {
    get { contains(key) ? slots[key.index].element : nil }
    set {
      if contains(key), let newValue { slots[key.index].element = newValue }
    }
  }

  @discardableResult
  package mutating func remove(_ key: Key) -> Element? {
    guard contains(key) else { return nil }
    return unlink(key.index)
  }

  package mutating func popFirst() -> Element? {
    head == Self.none ? nil : unlink(head)
  }

  /// Removes all elements and returns them in order.
  package mutating func removeAll() -> [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(count)
    while let element = popFirst() { elements.append(element) }
    return elements
  }

  package func forEach(_ body: (Key, Element) -> Void) {
    var index = head
    while index != Self.none {
      let slot = slots[index]
      if let element = slot.element { body(Key(index: index, serial: slot.serial), element) }
      index = slot.next
    }
  }

  private func contains(_ key: Key) -> Bool {
    key.index < slots.count && slots[key.index].serial == key.serial && slots[key.index].element != nil
  }

  private mutating func unlink(_ index: Int) -> Element? {
    let slot = slots[index]
    if slot.previous != Self.none { slots[slot.previous].next = slot.next } else { head = slot.next }
    if slot.next != Self.none { slots[slot.next].previous = slot.previous } else { tail = slot.previous }
    slots[index].element = nil
    slots[index].next = free
    free = index
    count -= 1
    if count == 0 {
      slots.removeAll(keepingCapacity: slots.count <= 16)
      free = Self.none
    }
    return slot.element
  }
}

extension OrderedSlots: Sendable where Element: Sendable {}

extension OrderedSlots.Slot: Sendable where Element: Sendable {}

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

/// Elements that are removed in the order in which they were added.
package struct Fifo<Element> {
  /// Nil at the positions before the first element.
  private var storage: [Element?] = []
  private var first = 0

  package init() {}

  package var count: Int { storage.count - first }
  package var isEmpty: Bool { first == storage.count }

  package mutating func append(_ element: Element) { storage.append(element) }

  package mutating func popFirst() -> Element? {
    guard first < storage.count else { return nil }
    let element = storage[first].take()
    first += 1
    if first == storage.count {
      storage.removeAll(keepingCapacity: storage.count <= 16)
      first = 0
    } else if first >= 64, first > storage.count / 2 {
      storage.removeFirst(first)
      first = 0
    }
    return element
  }

  /// Removes all elements and returns them in order.
  package mutating func removeAll() -> [Element] {
    defer { self = Fifo() }
    return storage[first...].compactMap { $0 }
  }
}

extension Fifo: Sendable where Element: Sendable {}
