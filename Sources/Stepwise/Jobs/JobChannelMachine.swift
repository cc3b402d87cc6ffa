// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a job's handlers are owed before its end: that it was launched, and its updates.
///
/// Whoever works on the main actor asks for one call after the other. There may be several who do so by turns: the order is
/// the same, since each call is made at once.
struct JobChannelMachine<Update> {
  enum Call {
    case start
    case update(Update)
  }

  private enum State {
    case open
    /// The work has ended: what is owed is told, and nothing is added.
    case closed
    /// Cancelled, or its owner is gone: nothing is told any more.
    case silent
  }

  private var state = State.open
  private var owed = OrderedSlots<Call>()
  /// Whether somebody is on the way to the main actor.
  private var isScheduled = false

  var isSilent: Bool {
    if case .silent = state { true } else { false }
  }

  var isOwing: Bool { !owed.isEmpty }

  /// Returns whether somebody is to be sent to the main actor.
  mutating func owe(_ call: Call) -> Bool {
    guard case .open = state else { return false }
    _ = owed.append(call)
    defer { isScheduled = true }
    return !isScheduled
  }

  /// Returns the call that is to be made now.
  mutating func next() -> Call? {
    if let call = owed.popFirst() { return call }
    isScheduled = false
    return nil
  }

  mutating func close() {
    if case .open = state { state = .closed }
  }

  /// Returns what nobody will be told, to be let go of outside the lock.
  mutating func silence() -> [Call] {
    state = .silent
    return owed.removeAll()
  }
}

extension JobChannelMachine.Call: Sendable where Update: Sendable {}
