// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A value that is settled once: the first value wins, all waiters are resumed, and waiters may leave.
struct OnceMachine<Value, Waiter> {
  enum Place {
    /// Its task has reserved the position but is not suspended yet.
    case reserved
    case suspended(Waiter)
    /// Its task was cancelled before it was suspended.
    case left

    var waiter: Waiter? {
      if case .suspended(let waiter) = self { waiter } else { nil }
    }
  }

  enum SettleAction {
    /// The value was already settled.
    case none
    /// Resumes the waiters; one alone needs no array.
    case resume(first: Waiter?, others: [Waiter])
  }

  enum WaitAction {
    case suspend
    case resume(Value?)
  }

  typealias PlaceID = Int

  /// The positions by number.
  ///
  /// One of them is stored inline, because most values have at most one waiter.
  private struct Places {
    var inline: (id: PlaceID, place: Place)?
    var others: [PlaceID: Place] = [:]

    subscript(id: PlaceID) -> Place? {
      get { inline?.id == id ? inline?.place : others[id] }
      set {
        if inline?.id == id || (inline == nil && others[id] == nil) {
          inline = newValue.map { (id, $0) }
        } else {
          others[id] = newValue
        }
      }
    }

    /// The waiters in the order of their positions.
    var settled: SettleAction {
      if others.isEmpty { return .resume(first: inline?.place.waiter, others: []) }
      var all = others
      if let inline { all[inline.id] = inline.place }
      return .resume(first: nil, others: all.sorted { $0.key < $1.key }.compactMap(\.value.waiter))
    }
  }

  private(set) var value: Value?
  private var places = Places()
  private var lastID = 0

  mutating func settle(_ value: Value) -> SettleAction {
    guard self.value == nil else { return .none }
    self.value = value
    defer { places = Places() }
    return places.settled
  }

  /// Reserves a position before there is a continuation to resume.
  mutating func reserve() -> PlaceID {
    lastID += 1
    places[lastID] = .reserved
    return lastID
  }

  mutating func wait(_ waiter: Waiter, at id: PlaceID) -> WaitAction {
    if value == nil, case .reserved = places[id] {
      places[id] = .suspended(waiter)
      return .suspend
    }
    places[id] = nil
    return .resume(value)
  }

  /// Returns the waiter to resume without a value.
  mutating func leave(_ id: PlaceID) -> Waiter? {
    guard value == nil, let place = places[id] else { return nil }
    places[id] = place.waiter == nil ? .left : nil
    return place.waiter
  }
}
