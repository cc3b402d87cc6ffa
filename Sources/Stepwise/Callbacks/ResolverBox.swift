// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The state that a resolver shares with the waiting task; it does not retain the resolver.
final class ResolverBox<Value: Sendable>: Sendable {
  let file: String
  let line: UInt
  private let machine = Lock(ResolverMachine<Value>())
  private let result = Once<Result<Value, any Error>>()

  init(file: String, line: UInt) {
    self.file = file
    self.line = line
  }

  func call(_ result: Result<Value, any Error>) -> Bool {
    switch machine.withLock({ $0.call() }) {
    case .settle:
      self.result.settle(result)
      return true
    case .late(let handler):
      if let handler, case .success(let value) = result { handler(value) }
      return false
    case .misuse(let count):
      ResolverMisuse.handler(ResolverMisuse(file: file, line: line, count: count))
      return false
    }
  }

  /// Ends the wait with the error of the body, unless it has ended already.
  func fail(_ error: any Error) {
    guard machine.withLock({ $0.fail() }).isFirst else { return }
    result.settle(.failure(error))
  }

  func release() {
    guard machine.withLock({ $0.release() }).isAbandoned else { return }
    result.settle(.failure(ResolverError(.abandoned, file: file, line: line)))
  }

  func onCancel(_ handler: @escaping ResolverMachine<Value>.CancelHandler) {
    switch machine.withLock({ $0.register(handler) }) {
    case .nothing: break
    case .call(let reason): handler(reason)
    }
  }

  func onLateValue(_ handler: @escaping ResolverMachine<Value>.LateValueHandler) {
    _ = machine.withLock { $0.registerLate(handler) }
  }

  /// Ends the wait with an error because the task is cancelled, unless a call came first.
  func cancel(reason: String?, throwing error: any Error = CancellationError()) {
    guard let handlers = machine.withLock({ $0.cancel(reason: reason) }) else { return }
    for handler in handlers { handler(reason) }
    result.settle(.failure(error))
  }

  /// Waits for the first call.
  ///
  /// When the task is cancelled, returns as soon as the cancel handlers have returned.
  nonisolated(nonsending) func value() async throws -> Value {
    let scope = Scope.current
    let settled = await withTaskCancellationHandler {
      await result.valueIgnoringCancellation()
    } onCancel: {
      cancel(reason: scope?.cancellationCause?.reason)
    }
    return try settled.get()
  }
}

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
