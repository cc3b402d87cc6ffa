// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Removes a handler from its `CancellationToken` when you no longer need it.
///
/// Releasing a registration does not remove the handler. A registration retains its token until it is removed.
public final class CancellationRegistration: Sendable {
  /// Nil once removed.
  private let token: Lock<CancellationToken?>
  private let key: CancellationToken.Key?
  private let handler: CancellationHandler

  init(token: CancellationToken, key: CancellationToken.Key?, handler: CancellationHandler) {
    self.token = Lock(token)
    self.key = key
    self.handler = handler
  }

  /// Removes the handler, unless it has been called.
  ///
  /// This method never waits: a handler that is running on another thread may still run when it returns. Do not release
  /// what such a handler uses before it has returned.
  ///
  /// - Returns: A Boolean value that indicates whether the handler was not called and never will be; `false` when it has
  ///   been called and may still be running.
  @discardableResult
  public func remove() -> Bool {
    token.withLock { $0.take() }?.remove(key)
    return handler.remove()
  }
}

/// One `onCancel` handler of a token, which is called once or removed first.
final class CancellationHandler: Sendable {
  typealias Handler = @Sendable (_ reason: String?) -> Void

  private enum State {
    case waiting(Handler)
    case called
    case removed
  }

  private let state: Lock<State>

  init(_ handler: @escaping Handler) {
    state = Lock(.waiting(handler))
  }

  func call(reason: String?) { take(.called)?(reason) }

  func remove() -> Bool {
    // The handler is released outside the lock, because it belongs to the user.
    _ = take(.removed)
    return state.withLock { if case .removed = $0 { true } else { false } }
  }

  private func take(_ new: State) -> Handler? {
    state.withLock { state in
      guard case .waiting(let handler) = state else { return nil }
      state = new
      return handler
    }
  }
}
