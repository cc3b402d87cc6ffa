// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Waiters in the order of their keys, with their cancellation: a value to store behind a lock.
///
/// A waiter enters before it suspends and is parked once there is something to resume. An early cancellation, between
/// the two, is recorded and refuses the parking. A late one, after the waiter was removed, has no effect. So each
/// parked waiter is returned at most once. Keys are unique for the lifetime of the list.
package struct WaitingList<Key: Comparable & Hashable & Sendable, Waiter: Sendable>: Sendable {
  /// One parked waiter.
  package struct Entry: Sendable {
    package let key: Key
    package let waiter: Waiter
  }

  private enum Entrance {
    /// It has entered and is not parked yet.
    case open
    /// It was cancelled before it was parked, and must not be parked.
    case cancelled
  }

  private var entrances: [Key: Entrance] = [:]
  private var entries: [Entry] = []

  package init() {}

  /// The number of parked waiters.
  package var count: Int { entries.count }

  /// The parked waiter with the smallest key.
  package var first: Entry? { entries.first }

  /// Whether no waiter is parked or has entered.
  package var isEmpty: Bool { entries.isEmpty && entrances.isEmpty }

  /// Announces a waiter, which `park` must follow.
  package mutating func enter(_ key: Key) {
    entrances[key] = .open
  }

  /// Parks a waiter that has entered; returns false, without storing it, when it was cancelled early.
  package mutating func park(_ key: Key, _ waiter: Waiter) -> Bool {
    guard case .open = entrances.removeValue(forKey: key) else { return false }
    entries.insert(Entry(key: key, waiter: waiter), at: position(of: key))
    return true
  }

  /// Removes the parked waiter, or records an early cancellation.
  package mutating func cancel(_ key: Key) -> Waiter? {
    if entrances[key] != nil {
      entrances[key] = .cancelled
      return nil
    }
    let position = position(of: key)
    guard position < entries.endIndex, entries[position].key == key else { return nil }
    return entries.remove(at: position).waiter
  }

  /// Removes the first waiter.
  package mutating func removeFirst() -> Waiter? {
    entries.isEmpty ? nil : entries.removeFirst().waiter
  }

  /// Removes all waiters that satisfy the condition, in the order of their keys.
  package mutating func removeAll(where condition: (Waiter) -> Bool) -> [Waiter] {
    let taken = entries.filter { condition($0.waiter) }
    if !taken.isEmpty {
      let keys = Set(taken.map(\.key))
      entries.removeAll { keys.contains($0.key) }
    }
    return taken.map(\.waiter)
  }

  /// The position of the key among the parked ones.
  private func position(of key: Key) -> Int {
    var range = entries.startIndex..<entries.endIndex
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      range = entries[middle].key < key ? (middle + 1)..<range.upperBound : range.lowerBound..<middle
    }
    return range.lowerBound
  }
}
