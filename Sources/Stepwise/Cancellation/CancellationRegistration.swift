// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A handler's place on a `CancellationToken`.
///
/// Letting a registration go changes nothing: the handler stays. A registration keeps its token alive
/// until it is removed.
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

  /// Removes the handler: afterwards it does not run and is not running.
  ///
  /// When the handler is running on another thread, this blocks until it has returned, so do not call it while holding
  /// a lock that the handler takes. Called from the handler itself it does not wait. Removing twice does nothing.
  public func remove() {
    token.withLock { $0.take() }?.remove(key)
    handler.remove()
  }
}
