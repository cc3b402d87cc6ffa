// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The pending handler calls of a job before its completion: the launch and the updates.
///
/// Code on the main actor requests one call after the other. Several callers may take turns: the order stays the same,
/// because each call is made immediately. The call for the launch comes first.
struct JobCallsMachine<Update> {
  enum Call {
    case start
    case update(Update)
  }

  private enum State {
    case open
    /// The work has ended: pending calls are made, and none is added.
    case closed
    /// The job is cancelled, or its owner is deallocated: no further call is made.
    case silent
  }

  /// The state of the task that makes the calls.
  private enum Caller {
    /// There is no such task.
    case none
    /// The task is on its way to the main actor.
    case scheduled
    /// The task makes a call or requests the next one.
    case calling
  }

  private var state = State.open
  private var caller = Caller.none
  private var isStartPending = false
  private var updates = Fifo<Update>()

  var isSilent: Bool {
    if case .silent = state { true } else { false }
  }

  /// Whether a call is pending or in progress; the latter even after `silence()`.
  var isBusy: Bool {
    if case .calling = caller { true } else { isStartPending || !updates.isEmpty }
  }

  /// Returns whether a task has to be started on the main actor.
  mutating func enqueue(_ call: Call) -> Bool {
    guard case .open = state else { return false }
    switch call {
    case .start: isStartPending = true
    case .update(let update): updates.append(update)
    }
    guard case .none = caller else { return false }
    caller = .scheduled
    return true
  }

  /// Returns the next call to make; the previous one has returned.
  mutating func next() -> Call? {
    let call = exchange(&isStartPending, with: false) ? Call.start : updates.popFirst().map { .update($0) }
    caller = call == nil ? .none : .calling
    return call
  }

  mutating func close() {
    if case .open = state { state = .closed }
  }

  /// Returns the updates that no call will deliver, to release them outside the lock.
  mutating func silence() -> [Update] {
    state = .silent
    isStartPending = false
    return updates.removeAll()
  }
}

extension JobCallsMachine.Call: Sendable where Update: Sendable {}
