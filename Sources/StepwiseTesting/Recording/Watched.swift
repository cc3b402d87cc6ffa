// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// State behind a lock, with tasks that wait until a condition on it holds.
///
/// Bodies and conditions run under the lock: they belong to the test kit, never to a user. Continuations are resumed
/// outside of it.
package final class Watched<State: Sendable>: Sendable {
  private struct Watcher: Sendable {
    let condition: @Sendable (State) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct Contents: Sendable {
    var state: State
    var watchers = WaitingList<UInt64, Watcher>()
    var arrivals: UInt64 = 0

    mutating func enter() -> UInt64 {
      arrivals += 1
      watchers.enter(arrivals)
      return arrivals
    }

    /// Parks the watcher; returns false when there is nothing to wait for.
    mutating func park(_ key: UInt64, _ watcher: Watcher) -> Bool {
      guard watchers.park(key, watcher) else { return false }
      guard watcher.condition(state) else { return true }
      _ = watchers.cancel(key)
      return false
    }
  }

  private let contents: Lock<Contents>

  package init(_ state: State) {
    contents = Lock(Contents(state: state))
  }

  /// Reads the state.
  package func read<Result: Sendable>(_ body: (State) -> Result) -> Result {
    contents.withLock { body($0.state) }
  }

  /// Changes the state, then resumes, outside the lock, the tasks whose condition now holds.
  package func mutate<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let (result, satisfied) = contents.withLock { contents in
      let result = body(&contents.state)
      let state = contents.state
      return (result, contents.watchers.removeAll { $0.condition(state) })
    }
    for watcher in satisfied {
      watcher.continuation.resume()
    }
    return result
  }

  /// Suspends until the condition holds, or until the waiting task is cancelled.
  package nonisolated(nonsending) func wait(until condition: @escaping @Sendable (State) -> Bool) async {
    guard !read(condition) else { return }
    let key = contents.withLock { $0.enter() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let watcher = Watcher(condition: condition, continuation: continuation)
        if !contents.withLock({ $0.park(key, watcher) }) {
          continuation.resume()
        }
      }
    } onCancel: {
      contents.withLock { $0.watchers.cancel(key) }?.continuation.resume()
    }
  }
}

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
