// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Cancels everything that belongs together, such as the runs and callbacks of a screen, once and permanently.
///
/// Give each screen or session a token, and cancel it when your user leaves. Use ``withCancellation(by:_:)``
/// to let a token cancel a task, and ``withCancellationToken(isolation:_:)`` to let a task cancel a token. Handlers and
/// outcomes receive the reason. You can use it from any thread.
///
/// ```swift
/// let screen = CancellationToken(linkedTo: session)
/// try await withCancellation(by: screen) {
///   try await loadPage.run("home")
/// }
/// ```
public final class CancellationToken: Sendable {
  typealias Handler = @Sendable (_ reason: String?) -> Void

  /// Stored and removed without looking up types.
  enum Listener {
    /// Called before the others: what it cancels begins nothing further while they run.
    case first(Handler)
    case handler(Handler)
    case child(Child)

    var isFirst: Bool { if case .first = self { true } else { false } }
  }

  final class Child: Sendable {
    weak let token: CancellationToken?

    init(_ token: CancellationToken) { self.token = token }
  }

  typealias Key = OrderedSlots<Listener>.Key

  private struct Link {
    var parent: CancellationToken
    let key: Key
  }

  private struct State {
    var cancellation: Cancellation?
    var canceller: RunCode?
    var listeners = OrderedSlots<Listener>()
    var link: Link?
  }

  private let state = Lock(State())
  private let flag = Atomic(false)

  /// Creates a token that is not cancelled.
  public init() {}

  /// Creates a token that is cancelled, with the same reason, when its parent is cancelled.
  ///
  /// Cancelling the new token does not cancel the parent. The parent does not retain the new token.
  public init(linkedTo parent: CancellationToken) {
    guard let key = parent.add(.child(Child(self))) else {
      _ = begin(Cancellation(reason: parent.reason), by: parent.canceller)
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
    // Retains the parent's parent before releasing the parent: a chain of tokens is released in a loop instead of
    // recursively.
    while isKnownUniquelyReferenced(&link.parent), let above = link.parent.state.withLock({ $0.link }) { link = above }
  }

  /// A Boolean value that indicates whether the token has been cancelled.
  public var isCancelled: Bool { flag.load(ordering: .acquiring) }

  /// The reason of the cancellation, if the token has been cancelled with one.
  public var reason: String? { request?.reason }

  /// The code that has cancelled the token, if it is that of a run with a journal.
  var canceller: RunCode? { isCancelled ? state.withLock { $0.canceller } : nil }

  package var request: Cancellation? { isCancelled ? state.withLock { $0.cancellation } : nil }

  /// Cancels the token permanently and calls its handlers on the current thread, in the order of their registration.
  ///
  /// - Returns: `true` for the call that cancelled the token, `false` for every later call.
  @discardableResult
  public func cancel(reason: String? = nil) -> Bool {
    let canceller = RunCode.current
    guard var pending = begin(Cancellation(reason: reason), by: canceller) else { return false }
    // Children are cancelled in this loop, at their position among the handlers: long chains need no recursion.
    while let next = pending.popLast() {
      switch next {
      case .first(let handler), .handler(let handler): handler(reason)
      case .child(let child): pending += child.token?.begin(Cancellation(reason: reason), by: canceller) ?? []
      }
    }
    return true
  }

  /// Returns the listeners to notify, the next one last; nil when the token was cancelled before.
  private func begin(_ cancellation: Cancellation, by canceller: RunCode?) -> [Listener]? {
    let effects: ([Listener], Link?)? = state.withLock { state in
      guard state.cancellation == nil else { return nil }
      (state.cancellation, state.canceller) = (cancellation, canceller)
      flag.store(true, ordering: .releasing)
      return (state.listeners.removeAll(), state.link.take())
    }
    guard let (listeners, link) = effects else { return nil }
    link?.parent.remove(link?.key)
    let next = listeners.reversed()
    return next.filter { !$0.isFirst } + next.filter(\.isFirst)
  }

  /// Calls a handler once, when the token is cancelled; immediately if it already is.
  ///
  /// The handler runs on the thread that cancels, or on the current one, outside the token's lock, so it may use the
  /// token. The token retains the handler until it has run or is removed through the registration.
  @discardableResult
  public func onCancel(_ handler: @escaping @Sendable (_ reason: String?) -> Void) -> CancellationRegistration {
    let handler = CancellationHandler(handler)
    return CancellationRegistration(token: self, key: listen { handler.call($0) }, handler: handler)
  }

  /// Calls a handler once, when the token is cancelled, and returns its key; nil if it has been called.
  ///
  /// An internal handler may still be called while it is being removed.
  func listen(_ handler: @escaping Handler) -> Key? { listen(.handler(handler), handler) }

  /// Calls a handler before those of `listen`.
  func listenFirst(_ handler: @escaping Handler) -> Key? { listen(.first(handler), handler) }

  private func listen(_ listener: Listener, _ handler: Handler) -> Key? {
    let key = add(listener)
    if key == nil { handler(reason) }
    return key
  }

  /// Throws an error if the token has been cancelled.
  ///
  /// - Throws: `CancellationError`.
  public func checkCancellation() throws {
    if isCancelled { throw CancellationError() }
  }

  /// Waits until the token, or the waiting task, is cancelled.
  @concurrent public func waitForCancellation() async {
    let cancelled = Once<Void>()
    let registration = onCancel { _ in cancelled.settle(()) }
    _ = await cancelled.value()
    registration.remove()
  }

  /// Waits until the token, or the waiting task, is cancelled.
  @available(*, deprecated, renamed: "waitForCancellation()")
  @concurrent public var cancellation: Void {
    get async { await waitForCancellation() }
  }

  var handlerCount: Int { state.withLock { $0.listeners.count } }

  /// Returns nil when the token is already cancelled.
  private func add(_ listener: Listener) -> Key? {
    state.withLock { $0.cancellation == nil ? $0.listeners.append(listener) : nil }
  }

  func remove(_ key: Key?) {
    guard let key else { return }
    // The removed listener is released outside the lock.
    _ = state.withLock { $0.listeners.remove(key) }
  }
}

extension Task where Failure == any Error {
  /// Waits for the task, which the token and the waiting task cancel.
  @inline(__always)
  func value(cancelledBy token: CancellationToken) async throws -> Success {
    let listener = token.listen { _ in cancel() }
    defer { token.remove(listener) }
    return try await withTaskCancellationHandler {
      try await value
    } onCancel: {
      cancel()
    }
  }
}

// MARK: - Handlers

/// Removes a handler from its `CancellationToken` when you no longer need it.
///
/// You can ignore it if the handler may stay until the token is cancelled. Releasing a registration does not remove the
/// handler. A registration retains its token until it is removed.
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
  private struct State {
    /// Nil once it is called or removed.
    var handler: CancellationToken.Handler?
    var isRemoved = false
  }

  private let state: Lock<State>

  init(_ handler: @escaping CancellationToken.Handler) {
    state = Lock(State(handler: handler))
  }

  func call(_ reason: String?) { state.withLock { $0.handler.take() }?(reason) }

  func remove() -> Bool {
    // The handler is released outside the lock, because it belongs to the user.
    let (isRemoved, _) = state.withLock { state in
      if state.handler != nil { state.isRemoved = true }
      return (state.isRemoved, state.handler.take())
    }
    return isRemoved
  }
}

/// The code of a run with a journal, as opposed to the bodies of its steps: what it cancels, a further process cancels, too.
package struct RunCode: Equatable, Sendable {
  /// The code that runs; nil elsewhere.
  @TaskLocal package static var current: RunCode?

  private let journal: ObjectIdentifier

  package init(of journal: AnyObject) { self.journal = ObjectIdentifier(journal) }
}
