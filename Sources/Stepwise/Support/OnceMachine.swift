// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that is settled once: the first value wins, everybody who waits is told, and waiters may leave.
struct OnceMachine<Value, Waiter> {
  private enum Place {
    /// Its task has the place but is not suspended yet.
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

  private var state = State.open
  private var places: [UInt64: Place] = [:]
  private var nextPlace: UInt64 = 0

  var value: Value? {
    guard case .settled(let value) = state else { return nil }
    return value
  }

  /// Returns whom to tell, or nil when a value was there before.
  mutating func settle(_ value: Value) -> [Waiter]? {
    guard case .open = state else { return nil }
    state = .settled(value)
    defer { places = [:] }
    guard !places.isEmpty else { return [] }
    return places.values.compactMap { place in
      guard case .suspended(let waiter) = place else { return nil }
      return waiter
    }
  }

  mutating func reserve() -> UInt64 {
    defer { nextPlace += 1 }
    if case .open = state { places[nextPlace] = .reserved }
    return nextPlace
  }

  mutating func wait(_ waiter: Waiter, at place: UInt64) -> WaitAction {
    if case .settled(let value) = state { return .resume(value) }
    guard case .reserved = places[place] else {
      places[place] = nil
      return .resume(nil)
    }
    places[place] = .suspended(waiter)
    return .suspend
  }

  /// Returns the waiter that is to be resumed without a value.
  mutating func leave(_ place: UInt64) -> Waiter? {
    switch places[place] {
    case .reserved:
      places[place] = .left
      return nil
    case .suspended(let waiter):
      places[place] = nil
      return waiter
    case .left, nil:
      return nil
    }
  }
}
