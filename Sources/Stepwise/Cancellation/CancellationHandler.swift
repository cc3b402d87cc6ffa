// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The states of one `onCancel` handler, which is called once or removed first.
struct HandlerMachine {
  typealias Handler = @Sendable (_ reason: String?) -> Void

  private enum State {
    case waiting(Handler)
    case running(thread: UInt, waiting: [ThreadSignal])
    /// The handler has returned, or was removed.
    case over
  }

  enum RemoveAction {
    case nothing
    /// The handler will not be called. It is released outside the lock, because it belongs to the user.
    case release(Handler)
    /// Blocks the thread until the handler has returned.
    case wait(ThreadSignal)
  }

  private var state: State

  var isRunning: Bool { if case .running = state { true } else { false } }

  init(_ handler: @escaping Handler) {
    state = .waiting(handler)
  }

  /// Returns the handler if it should be called now.
  mutating func begin(on thread: UInt) -> Handler? {
    guard case .waiting(let handler) = state else { return nil }
    state = .running(thread: thread, waiting: [])
    return handler
  }

  /// Returns the signals of the threads that wait.
  mutating func end() -> [ThreadSignal] {
    guard case .running(_, let waiting) = exchange(&state, with: .over) else { return [] }
    return waiting
  }

  mutating func remove(on thread: UInt) -> RemoveAction {
    switch state {
    case .waiting(let handler):
      state = .over
      return .release(handler)
    case .running(thread, _):
      return .nothing
    case .running(let running, let waiting):
      let signal = ThreadSignal()
      state = .running(thread: running, waiting: waiting + [signal])
      return .wait(signal)
    case .over:
      return .nothing
    }
  }
}

/// One `onCancel` handler of a token.
final class CancellationHandler: Sendable {
  private let machine: Lock<HandlerMachine>

  init(_ handler: @escaping HandlerMachine.Handler) {
    machine = Lock(HandlerMachine(handler))
  }

  func call(reason: String?) {
    var handler = machine.withLock { $0.begin(on: Platform.currentThread) }
    guard handler != nil else { return }
    handler?(reason)
    // What it captured is released before those who wait for it continue.
    handler = nil
    for signal in machine.withLock({ $0.end() }) { signal.wake() }
  }

  func remove() {
    switch machine.withLock({ $0.remove(on: Platform.currentThread) }) {
    case .nothing, .release: break
    case .wait(let signal): signal.wait { machine.withLock { $0.isRunning } }
    }
  }
}
