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

  /// Ends the wait with an error, unless it has ended already; first calls the handlers of a cancellation.
  func end(with error: any Error, cancelledBy cancellation: Cancellation? = nil) {
    guard let handlers = machine.withLock({ $0.end(cancelledBy: cancellation) }) else { return }
    if let cancellation {
      for handler in handlers { handler(cancellation.reason) }
    }
    result.settle(.failure(error))
  }

  func onCancel(_ handler: @escaping ResolverMachine<Value>.CancelHandler) {
    if let cancellation = machine.withLock({ $0.register(handler) }) { handler(cancellation.reason) }
  }

  func onLateValue(_ handler: @escaping ResolverMachine<Value>.LateValueHandler) {
    _ = machine.withLock { $0.registerLate(handler) }
  }

  /// Waits for the first call.
  ///
  /// When the task is cancelled, returns as soon as the cancel handlers have returned.
  nonisolated(nonsending) func value() async throws -> Value {
    let scope = Scope.current
    let settled = await withTaskCancellationHandler {
      await result.valueIgnoringCancellation()
    } onCancel: {
      end(with: CancellationError(), cancelledBy: scope?.cancellationCause ?? Cancellation())
    }
    return try settled.get()
  }
}

/// Decides which call of a resolver counts.
///
/// Calls come from the callback, from cancellation and from the release of the resolver, in any order. Handlers are
/// returned to be released outside the lock, because releasing them may run code that uses the resolver.
struct ResolverMachine<Value> {
  typealias CancelHandler = @Sendable (_ reason: String?) -> Void
  typealias LateValueHandler = @Sendable (Value) -> Void

  enum CallAction {
    case settle(releasing: [CancelHandler], LateValueHandler?)
    /// The first call after the wait has ended for another reason, which is not a misuse.
    case late(LateValueHandler?)
    case misuse(count: Int)
  }

  private var isOpen = true
  /// The cancellation that ended the wait.
  private var cancellation: Cancellation?
  private var calls = 0
  private var onCancel: [CancelHandler] = []
  private var onLateValue: LateValueHandler?

  mutating func call() -> CallAction {
    calls += 1
    if let handlers = end() { return .settle(releasing: handlers, onLateValue.take()) }
    return calls == 1 ? .late(onLateValue.take()) : .misuse(count: calls)
  }

  /// Ends the wait, and returns the cancel handlers; nil when another event was first.
  mutating func end(cancelledBy cancellation: Cancellation? = nil) -> [CancelHandler]? {
    guard isOpen else { return nil }
    isOpen = false
    self.cancellation = cancellation
    return exchange(&onCancel, with: [])
  }

  /// Returns the cancellation that the handler has missed.
  mutating func register(_ handler: @escaping CancelHandler) -> Cancellation? {
    if isOpen { onCancel.append(handler) }
    return cancellation
  }

  /// Returns the replaced handler.
  mutating func registerLate(_ handler: @escaping LateValueHandler) -> LateValueHandler? {
    calls == 0 ? exchange(&onLateValue, with: handler) : nil
  }
}
