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
    let scope = CancellationScope.current
    let settled = await withTaskCancellationHandler {
      await result.valueIgnoringCancellation()
    } onCancel: {
      cancel(reason: scope?.cancellationCause?.reason)
    }
    return try settled.get()
  }
}
