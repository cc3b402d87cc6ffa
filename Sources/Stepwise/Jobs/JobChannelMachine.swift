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

  /// Where the one is who makes the calls.
  private enum Teller {
    /// Nobody was sent.
    case away
    /// On the way to the main actor.
    case coming
    /// There: makes a call, or comes back for the next one.
    case calling
  }

  private var state = State.open
  private var teller = Teller.away
  private var owed = OrderedSlots<Call>()

  var isSilent: Bool {
    if case .silent = state { true } else { false }
  }

  /// Whether a call is owed, or is just being made; the latter also after the silence.
  var isTelling: Bool {
    if case .calling = teller { true } else { !owed.isEmpty }
  }

  /// Returns whether somebody is to be sent to the main actor.
  mutating func owe(_ call: Call) -> Bool {
    guard case .open = state else { return false }
    _ = owed.append(call)
    guard case .away = teller else { return false }
    teller = .coming
    return true
  }

  /// Returns the call that is to be made now; the one before has returned.
  mutating func next() -> Call? {
    let call = owed.popFirst()
    teller = call == nil ? .away : .calling
    return call
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
