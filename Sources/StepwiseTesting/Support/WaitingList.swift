// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Waiters in the order of their keys, and how each of them is cancelled: a pure value to be kept behind a lock.
///
/// A waiter enters before it suspends and is parked once there is something to resume. A cancellation that comes
/// between the two (early) is remembered and refuses the parking; one that comes after the waiter was taken out (late)
/// does nothing. So each waiter that is parked is handed out at most once. Keys are unique for the life of the list.
package struct WaitingList<Key: Comparable & Hashable & Sendable, Waiter: Sendable>: Sendable {
  /// One parked waiter.
  package struct Entry: Sendable {
    package let key: Key
    package let waiter: Waiter
  }

  private enum Entrance {
    /// On its way to be parked.
    case open
    /// Cancelled on its way: it must not be parked.
    case cancelled
  }

  private var entrances: [Key: Entrance] = [:]
  private var entries: [Entry] = []

  package init() {}

  /// How many waiters are parked.
  package var count: Int { entries.count }

  /// The parked waiter with the smallest key.
  package var first: Entry? { entries.first }

  /// Whether nobody is parked and nobody is on the way.
  package var isEmpty: Bool { entries.isEmpty && entrances.isEmpty }

  /// Announces a waiter, which `park` must follow.
  package mutating func enter(_ key: Key) {
    entrances[key] = .open
  }

  /// Parks a waiter that has entered, and answers false, keeping nothing, when it was cancelled early.
  package mutating func park(_ key: Key, _ waiter: Waiter) -> Bool {
    guard case .open = entrances.removeValue(forKey: key) else { return false }
    entries.insert(Entry(key: key, waiter: waiter), at: position(of: key))
    return true
  }

  /// Takes out the parked waiter, or remembers that it is cancelled when it is still on its way.
  package mutating func cancel(_ key: Key) -> Waiter? {
    if entrances[key] != nil {
      entrances[key] = .cancelled
      return nil
    }
    let position = position(of: key)
    guard position < entries.endIndex, entries[position].key == key else { return nil }
    return entries.remove(at: position).waiter
  }

  /// Takes out the first waiter.
  package mutating func removeFirst() -> Waiter? {
    entries.isEmpty ? nil : entries.removeFirst().waiter
  }

  /// Takes out all waiters that the condition holds for, in the order of their keys.
  package mutating func removeAll(where condition: (Waiter) -> Bool) -> [Waiter] {
    let taken = entries.filter { condition($0.waiter) }
    if !taken.isEmpty {
      let keys = Set(taken.map(\.key))
      entries.removeAll { keys.contains($0.key) }
    }
    return taken.map(\.waiter)
  }

  /// Where the key stands, or would stand, among the parked ones.
  private func position(of key: Key) -> Int {
    var range = entries.startIndex..<entries.endIndex
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = entries[middle].key < key ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }
}
