// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The states of one `onCancel` handler, which is called once or removed first.
struct HandlerMachine {
  typealias Handler = @Sendable (_ reason: String?) -> Void

  private enum State {
    case waiting(Handler)
    case running(thread: UInt)
    /// The handler has returned, or was removed.
    case over
  }

  enum RemoveAction {
    case nothing
    /// The handler will not be called. It is released outside the lock, because it belongs to the user.
    case release(Handler)
    case waitForEnd
  }

  private var state: State

  init(_ handler: @escaping Handler) {
    state = .waiting(handler)
  }

  /// Returns the handler if it should be called now.
  mutating func begin(on thread: UInt) -> Handler? {
    guard case .waiting(let handler) = state else { return nil }
    state = .running(thread: thread)
    return handler
  }

  mutating func end() {
    state = .over
  }

  mutating func remove(on thread: UInt) -> RemoveAction {
    switch state {
    case .waiting(let handler):
      state = .over
      return .release(handler)
    case .running(let running):
      return running == thread ? .nothing : .waitForEnd
    case .over:
      return .nothing
    }
  }
}

/// One `onCancel` handler of a token.
final class CancellationHandler: Sendable {
  private let machine: Lock<HandlerMachine>

  /// Held while the handler runs.
  ///
  /// It guards no state: a thread that removes the handler meanwhile waits here.
  private let running = Lock(())

  init(_ handler: @escaping HandlerMachine.Handler) {
    machine = Lock(HandlerMachine(handler))
  }

  func call(reason: String?) {
    running.withLock { _ in
      guard let handler = machine.withLock({ $0.begin(on: Platform.currentThread) }) else { return }
      handler(reason)
      machine.withLock { $0.end() }
    }
  }

  func remove() {
    switch machine.withLock({ $0.remove(on: Platform.currentThread) }) {
    case .nothing, .release: break
    case .waitForEnd: running.withLock { _ in }
    }
  }
}
