// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides which of a callback's calls counts.
///
/// Calls come from the callback's side, from cancellation, and from letting the resolver go, in any order.
struct ResolverMachine<Value> {
  typealias CancelHandler = @Sendable (_ reason: String?) -> Void
  typealias LateValueHandler = @Sendable (Value) -> Void

  private enum State {
    case open(onCancel: [CancelHandler])
    /// The callback's side, or letting go, was first.
    case settled
    /// Cancellation was first.
    case cancelled(reason: String?)
  }

  enum CallAction {
    case settle
    /// The first call after a cancel: no misuse.
    case late(LateValueHandler?)
    case misuse(count: Int)
  }

  private var state = State.open(onCancel: [])
  private var calls = 0
  private var onLateValue: LateValueHandler?

  mutating func call() -> CallAction {
    calls += 1
    switch state {
    case .open:
      state = .settled
      onLateValue = nil
      return .settle
    case .cancelled where calls == 1:
      defer { onLateValue = nil }
      return .late(onLateValue)
    case .settled, .cancelled:
      return .misuse(count: calls)
    }
  }

  /// Returns whether the resolver ends as abandoned.
  mutating func letGo() -> Bool {
    onLateValue = nil
    guard case .open = state else { return false }
    state = .settled
    return true
  }

  /// Returns the handlers to call before the waiting step ends, or nil when something was first.
  mutating func cancel(reason: String?) -> [CancelHandler]? {
    guard case .open(let handlers) = state else { return nil }
    state = .cancelled(reason: reason)
    return handlers
  }

  enum RegisterAction {
    case nothing
    case call(reason: String?)
  }

  mutating func register(_ handler: @escaping CancelHandler) -> RegisterAction {
    switch state {
    case .open(let handlers):
      state = .open(onCancel: handlers + [handler])
      return .nothing
    case .settled:
      return .nothing
    case .cancelled(let reason):
      return .call(reason: reason)
    }
  }

  mutating func registerLate(_ handler: @escaping LateValueHandler) {
    switch state {
    case .open: onLateValue = handler
    case .cancelled where calls == 0: onLateValue = handler
    case .settled, .cancelled: break
    }
  }
}
