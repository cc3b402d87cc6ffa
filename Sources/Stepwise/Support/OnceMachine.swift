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
  }

  private enum State {
    case open
    case settled(Value)
  }

  enum WaitAction {
    case suspend
    case resume(Value?)
  }

  typealias PlaceID = OrderedSlots<Place>.Key

  private var state = State.open
  private var places = OrderedSlots<Place>()

  var value: Value? {
    guard case .settled(let value) = state else { return nil }
    return value
  }

  /// Returns the waiters to resume, or nil when the value was already settled.
  mutating func settle(_ value: Value) -> [Waiter]? {
    guard case .open = state else { return nil }
    state = .settled(value)
    guard !places.isEmpty else { return [] }
    return places.removeAll().compactMap { place in
      guard case .suspended(let waiter) = place else { return nil }
      return waiter
    }
  }

  /// Reserves a position before there is a continuation to resume.
  mutating func reserve() -> PlaceID {
    places.append(.reserved)
  }

  mutating func wait(_ waiter: Waiter, at place: PlaceID) -> WaitAction {
    if case .settled(let value) = state {
      places.remove(place)
      return .resume(value)
    }
    guard case .reserved = places[place] else {
      places.remove(place)
      return .resume(nil)
    }
    places[place] = .suspended(waiter)
    return .suspend
  }

  /// Returns the waiter to resume without a value.
  mutating func leave(_ place: PlaceID) -> Waiter? {
    switch places[place] {
    case .reserved:
      places[place] = .left
      return nil
    case .suspended(let waiter):
      places.remove(place)
      return waiter
    case .left, nil:
      return nil
    }
  }
}
