// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The registration of a handler with a `CancellationToken`.
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

  /// Removes the handler.
  ///
  /// Afterwards it neither runs nor starts.
  ///
  /// When the handler is running on another thread, this method blocks until it has returned, so do not call it while
  /// holding a lock that the handler acquires. It does not wait when the handler itself calls it. Removing twice has no
  /// effect.
  public func remove() {
    token.withLock { $0.take() }?.remove(key)
    handler.remove()
  }
}
