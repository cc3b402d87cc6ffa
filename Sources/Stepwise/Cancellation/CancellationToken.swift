// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Asks any number of chains, bodies and callbacks to stop, once and for good, with a reason.
///
/// A token is the bridge between code that is not a Task and Task cancellation: ``withCancellation(by:isolation:_:)`` goes
/// from token to Task, ``withCancellationToken(isolation:_:)`` from Task to token. All members may be used from any thread.
public final class CancellationToken: Sendable {
  enum Listener: Sendable {
    case handler(CancellationHandler)
    case child(Child)
  }

  struct Child: Sendable {
    weak let token: CancellationToken?
  }

  typealias Key = OrderedSlots<Listener>.Key

  /// This token's place on its parent.
  private struct Link {
    var parent: CancellationToken
    let key: Key
  }

  private struct State {
    var cancellation: Cancellation?
    var listeners = OrderedSlots<Listener>()
    var link: Link?
  }

  private let state = Lock(State())
  private let flag = Atomic(false)

  /// Creates a token that nobody has cancelled.
  public init() {}

  /// Creates a token that is also cancelled, with the same reason, when its parent is.
  ///
  /// Cancelling the new token leaves the parent alone, and the parent does not keep the new token alive.
  public init(linkedTo parent: CancellationToken) {
    guard let key = parent.add(.child(Child(token: self))) else {
      cancel(reason: parent.reason)
      return
    }
    let isObsolete = state.withLock { state in
      if state.cancellation == nil { state.link = Link(parent: parent, key: key) }
      return state.cancellation != nil
    }
    if isObsolete { parent.remove(key) }
  }

  deinit {
    guard var link = state.withLock({ $0.link.take() }) else { return }
    link.parent.remove(link.key)
    // The parent's own parent is retained before the parent is released, so that a line of tokens is released in a loop
    // and not one stack frame deeper for each.
    while isKnownUniquelyReferenced(&link.parent), let above = link.parent.state.withLock({ $0.link }) { link = above }
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
    guard var pending = begin(Cancellation(reason: reason)) else { return false }
    // Children are cancelled in this loop, at their place among the handlers, however many are linked one to another.
    while let next = pending.popLast() {
      switch next {
      case .handler(let handler): handler.call(reason: reason)
      case .child(let child): pending += child.token?.begin(Cancellation(reason: reason)) ?? []
      }
    }
    return true
  }

  /// Decides that the token is cancelled.
  ///
  /// - Returns: What is to be told, the last first; nil when the token was cancelled before.
  private func begin(_ cancellation: Cancellation) -> [Listener]? {
    let effects: ([Listener], Link?)? = state.withLock { state in
      guard state.cancellation == nil else { return nil }
      state.cancellation = cancellation
      flag.store(true, ordering: .releasing)
      return (state.listeners.removeAll(), state.link.take())
    }
    guard let (listeners, link) = effects else { return nil }
    CancellationCount.increment()
    link?.parent.remove(link?.key)
    return listeners.reversed()
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
    let key = add(.handler(handler))
    if key == nil { handler.call(reason: reason) }
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

  /// How many handlers wait, linked tokens included.
  var handlerCount: Int { state.withLock { $0.listeners.count } }

  /// Returns nil when the token is cancelled already.
  private func add(_ listener: Listener) -> Key? {
    state.withLock { $0.cancellation == nil ? $0.listeners.append(listener) : nil }
  }

  func remove(_ key: Key?) {
    guard let key else { return }
    // What is removed is released outside the lock.
    _ = state.withLock { $0.listeners.remove(key) }
  }
}
