// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Asks any number of chains, bodies and callbacks to stop, once and for good, with a reason.
///
/// A token is the bridge between code that is not a Task and Task cancellation: ``withCancellation(by:isolation:_:)`` goes
/// from token to Task, ``withCancellationToken(isolation:_:)`` from Task to token. All members may be used from any thread.
public final class CancellationToken: Sendable {
  private struct State {
    var cancellation: Cancellation?
    var handlers = OrderedSlots<CancellationHandler>()
    /// This token's handler on its parent.
    var link: CancellationRegistration?
  }

  private let state = Lock(State())
  private let flag = Atomic(false)

  /// Creates a token that nobody has cancelled.
  public init() {}

  /// Creates a token that is also cancelled, with the same reason, when its parent is.
  ///
  /// Cancelling the new token leaves the parent alone, and the parent does not keep the new token alive.
  public init(linkedTo parent: CancellationToken) {
    let link = parent.onCancel { [weak self] reason in self?.cancel(reason: reason) }
    let isObsolete = state.withLock { state in
      if state.cancellation == nil { state.link = link }
      return state.cancellation != nil
    }
    if isObsolete { link.remove() }
  }

  deinit {
    state.withLock { $0.link }?.remove()
  }

  /// Whether the token was cancelled.
  public var isCancelled: Bool { flag.load(ordering: .acquiring) }

  /// The reason given with the cancellation, if there was one of either.
  public var reason: String? { request?.reason }

  /// What the token was cancelled with, if it was.
  package var request: Cancellation? {
    isCancelled ? state.withLock { $0.cancellation } : nil
  }

  /// Cancels the token for good and calls its handlers, in the order of their registration, on this thread.
  ///
  /// - Parameter reason: Why, for those who are told.
  /// - Returns: `true` for the call that cancelled the token, `false` for every later one.
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool {
    let effects: ([CancellationHandler], CancellationRegistration?)? = state.withLock { state in
      guard state.cancellation == nil else { return nil }
      state.cancellation = Cancellation(reason: reason)
      flag.store(true, ordering: .releasing)
      defer { state.link = nil }
      return (state.handlers.removeAll(), state.link)
    }
    guard let (handlers, link) = effects else { return false }
    for handler in handlers { handler.call(reason: reason) }
    link?.remove()
    return true
  }

  /// Calls a handler when the token is cancelled: once, and at once when it is cancelled already.
  ///
  /// The handler runs on the thread that cancels, or on this one, outside the token's lock, so that it may use the token.
  /// It is kept until it has run or is removed.
  ///
  /// - Parameter handler: What to do; it is given the reason.
  /// - Returns: The registration, with which to remove the handler. It may be ignored.
  @discardableResult
  public func onCancel(_ handler: @escaping @Sendable (_ reason: String?) -> Void) -> CancellationRegistration {
    let handler = CancellationHandler(handler)
    let (key, cancellation) = state.withLock { state in
      let key = state.cancellation == nil ? state.handlers.append(handler) : nil
      return (key, state.cancellation)
    }
    if let cancellation { handler.call(reason: cancellation.reason) }
    return CancellationRegistration(token: self, key: key, handler: handler)
  }

  /// Throws when the token was cancelled.
  ///
  /// - Throws: `CancellationError`.
  public func checkCancellation() throws {
    if isCancelled { throw CancellationError() }
  }

  /// Waits until the token, or the Task that waits, is cancelled.
  public var cancellation: Void {
    get async {
      let cancelled = Once<Void>()
      let registration = onCancel { _ in cancelled.settle(()) }
      _ = await cancelled.value()
      registration.remove()
    }
  }

  /// How many handlers wait, those of linked tokens included.
  var handlerCount: Int { state.withLock { $0.handlers.count } }

  func forget(_ key: OrderedSlots<CancellationHandler>.Key) {
    state.withLock { $0.handlers.remove(key) }
  }
}
