// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A handler's place on a `CancellationToken`.
///
/// Letting a registration go changes nothing: the handler stays. A registration keeps its token alive.
public final class CancellationRegistration: Sendable {
  private let token: CancellationToken
  private let key: OrderedSlots<CancellationHandler>.Key?
  private let handler: CancellationHandler

  init(token: CancellationToken, key: OrderedSlots<CancellationHandler>.Key?, handler: CancellationHandler) {
    self.token = token
    self.key = key
    self.handler = handler
  }

  /// Removes the handler: afterwards it does not run and is not running.
  ///
  /// When the handler is running on another thread, this blocks until it has returned, so do not call it while holding
  /// a lock that the handler takes. Called from the handler itself it does not wait. Removing twice does nothing.
  public func remove() {
    if let key { token.forget(key) }
    handler.remove()
  }
}
