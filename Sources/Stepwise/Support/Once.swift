// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A value that is settled once and can be awaited by many.
package final class Once<Value: Sendable>: Sendable {
  private let cell = OnceCell<Value>()

  package init() {}

  /// The value, if it has been settled.
  package var settled: Value? { cell.settled }

  /// Settles the value, unless it is already settled.
  ///
  /// - Returns: Whether this call settled it.
  @discardableResult
  package func settle(_ value: Value) -> Bool { cell.settle(value) }

  /// Waits for the value; returns nil when the waiting task was cancelled first.
  package nonisolated(nonsending) func value() async -> Value? { await cell.value() }

  /// Waits for the value, and ignores cancellation of the waiting task.
  package nonisolated(nonsending) func valueIgnoringCancellation() async -> Value {
    await cell.valueIgnoringCancellation()
  }
}

/// A `Once` that is stored in another object.
struct OnceCell<Value: Sendable>: ~Copyable, Sendable {
  /// An unsafe continuation, because every run uses it and the checks cost a fifth of a run.
  ///
  /// The machine returns each waiter once.
  private typealias Waiter = UnsafeContinuation<Value?, Never>

  private let machine = Lock(OnceMachine<Value, Waiter>())

  /// The value, if it has been settled.
  var settled: Value? { machine.withLock { $0.value } }

  /// Settles the value, unless it is already settled.
  ///
  /// - Returns: Whether this call settled it.
  @discardableResult
  func settle(_ value: Value) -> Bool {
    switch machine.withLock({ $0.settle(value) }) {
    case .none:
      return false
    case .resume(let first, let others):
      first?.resume(returning: value)
      for waiter in others { waiter.resume(returning: value) }
      return true
    }
  }

  /// Waits for the value; returns nil when the waiting task was cancelled first.
  ///
  /// A value that is already settled is returned in a cancelled task as well.
  nonisolated(nonsending) func value() async -> Value? {
    if let settled { return settled }
    let place = machine.withLock { $0.reserve() }
    return await withTaskCancellationHandler {
      await wait(at: place)
    } onCancel: {
      machine.withLock { $0.leave(place) }?.resume(returning: nil)
    }
  }

  /// Waits for the value, and ignores cancellation of the waiting task.
  nonisolated(nonsending) func valueIgnoringCancellation() async -> Value {
    while true {
      // A reservation that is never left is resumed with a value, so there is no second round.
      if let value = await wait(at: machine.withLock { $0.reserve() }) { return value }
    }
  }

  private nonisolated(nonsending) func wait(
    at place: OnceMachine<Value, Waiter>.PlaceID
  ) async -> Value? {
    let value = await withUnsafeContinuation { (waiter: Waiter) in
      switch machine.withLock({ $0.wait(waiter, at: place) }) {
      case .suspend: break
      case .resume(let value): waiter.resume(returning: value)
      }
    }
    #if TSAN
      // ThreadSanitizer does not see the hand-over by a continuation that is resumed before its task suspends, either.
      machine.withLock { _ in }
    #endif
    return value
  }
}
