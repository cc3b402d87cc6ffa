// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides which call of a resolver counts.
///
/// Calls come from the callback, from cancellation and from the release of the resolver, in any order.
struct ResolverMachine<Value> {
  typealias CancelHandler = @Sendable (_ reason: String?) -> Void
  typealias LateValueHandler = @Sendable (Value) -> Void

  /// The handlers that users registered.
  ///
  /// They are released outside the lock, because releasing them may run code that uses the resolver.
  struct Handlers {
    var onCancel: [CancelHandler] = []
    var onLateValue: LateValueHandler?
  }

  private enum State {
    case open
    /// A call, or the release of the resolver, was first.
    case settled
    /// The body threw first.
    case failed
    /// Cancellation was first.
    case cancelled(reason: String?)
  }

  enum CallAction {
    case settle(releasing: Handlers)
    /// The first call after the wait has ended for another reason, which is not a misuse.
    case late(LateValueHandler?)
    case misuse(count: Int)
  }

  private var state = State.open
  private var calls = 0
  private var handlers = Handlers()

  mutating func call() -> CallAction {
    calls += 1
    switch state {
    case .open:
      state = .settled
      return .settle(releasing: takeHandlers())
    case .failed where calls == 1, .cancelled where calls == 1:
      return .late(takeHandlers().onLateValue)
    case .settled, .failed, .cancelled:
      return .misuse(count: calls)
    }
  }

  /// The body threw.
  ///
  /// Returns whether that ends the wait, and the handlers to release.
  mutating func fail() -> (isFirst: Bool, releasing: [CancelHandler]) {
    guard case .open = state else { return (false, []) }
    state = .failed
    return (true, takeCancelHandlers())
  }

  /// Returns whether the resolver ends as abandoned, and the handlers to release.
  mutating func release() -> (isAbandoned: Bool, releasing: Handlers) {
    guard case .open = state else { return (false, takeHandlers()) }
    state = .settled
    return (true, takeHandlers())
  }

  /// Returns the handlers to call before the waiting step ends, or nil when another event was first.
  mutating func cancel(reason: String?) -> [CancelHandler]? {
    guard case .open = state else { return nil }
    state = .cancelled(reason: reason)
    return takeCancelHandlers()
  }

  enum RegisterAction {
    case nothing
    case call(reason: String?)
  }

  mutating func register(_ handler: @escaping CancelHandler) -> RegisterAction {
    switch state {
    case .open:
      handlers.onCancel.append(handler)
      return .nothing
    case .settled, .failed:
      return .nothing
    case .cancelled(let reason):
      return .call(reason: reason)
    }
  }

  /// Returns the replaced handler.
  mutating func registerLate(_ handler: @escaping LateValueHandler) -> LateValueHandler? {
    guard calls == 0 else { return nil }
    defer { handlers.onLateValue = handler }
    return handlers.onLateValue
  }

  private mutating func takeHandlers() -> Handlers {
    defer { handlers = Handlers() }
    return handlers
  }

  private mutating func takeCancelHandlers() -> [CancelHandler] {
    defer { handlers.onCancel = [] }
    return handlers.onCancel
  }
}
