// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Elements in order of insertion, each removable by its key in constant time.
///
/// A doubly linked list whose links are indices into one array. Memory follows the largest number of elements stored at
/// one time since the list was last empty; up to 16 slots stay. Keys are never reused, so the key of a removed element
/// removes nothing.
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

  @discardableResult
  package mutating func append(_ element: consuming Element) -> Key {
    let slot = Slot(element: consume element, serial: nextSerial, previous: tail, next: Self.none)
    var index = free
    if index == Self.none {
      index = slots.count
      slots.append(consume slot)
    } else {
      free = slots[index].next
      slots[index] = consume slot
    }
    if tail != Self.none { slots[tail].next = index } else { head = index }
    tail = index
    count += 1
    nextSerial += 1
    return Key(index: index, serial: nextSerial - 1)
  }

  @discardableResult
  package mutating func remove(_ key: Key) -> Element? {
    guard key.index < slots.count, slots[key.index].serial == key.serial, slots[key.index].element != nil else {
      return nil
    }
    return unlink(key.index)
  }

  package mutating func popFirst() -> Element? {
    head == Self.none ? nil : unlink(head)
  }

  package mutating func removeAll() -> [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(count)
    while let element = popFirst() { elements.append(element) }
    return elements
  }

  package var elements: [Element] {
    sequence(state: head) { index in
      guard index != Self.none else { return nil }
      defer { index = slots[index].next }
      return slots[index].element
    }.map { $0 }
  }

  private mutating func unlink(_ index: Int) -> Element? {
    // Field by field: a copy of the slot would retain the element.
    let (previous, next) = (slots[index].previous, slots[index].next)
    if previous != Self.none { slots[previous].next = next } else { head = next }
    if next != Self.none { slots[next].previous = previous } else { tail = previous }
    let element = slots[index].element.take()
    slots[index].next = free
    free = index
    count -= 1
    if count == 0, slots.count > 16 {
      slots = []
      free = Self.none
    }
    return element
  }
}

extension OrderedSlots: Sendable where Element: Sendable {}

extension OrderedSlots.Slot: Sendable where Element: Sendable {}
