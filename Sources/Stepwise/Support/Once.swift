// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A value that is settled once and can be awaited by many; its methods are those of a ``OnceCell``.
package final class Once<Value: Sendable>: Sendable {
  private let cell = OnceCell<Value>()

  package init() {}

  package var settled: Value? { cell.settled }

  @discardableResult
  package func settle(_ value: Value) -> Bool { cell.settle(value) }

  package func value() async -> Value? { await cell.value() }

  package func valueIgnoringCancellation() async -> Value { await cell.valueIgnoringCancellation() }
}

/// A `Once` that is stored in another object.
struct OnceCell<Value: Sendable>: ~Copyable, Sendable {
  /// An unsafe continuation, because every run uses it and the checks cost a fifth of a run.
  ///
  /// The machine returns each waiter once.
  private typealias Waiter = UnsafeContinuation<Value?, Never>

  private let machine = Lock(OnceMachine<Value, Waiter>())

  var settled: Value? { machine.withLock { $0.value } }

  /// Settles the value, unless it is already settled.
  ///
  /// - Returns: Whether this call settled it.
  @discardableResult
  func settle(_ value: Value) -> Bool {
    guard let (first, others) = machine.withLock({ $0.settle(value) }) else { return false }
    machine.resuming { first?.resume(returning: value) }
    for waiter in others { machine.resuming { waiter.resume(returning: value) } }
    return true
  }

  /// Waits for the value; returns nil when the waiting task was cancelled first.
  ///
  /// A value that is already settled is returned in a cancelled task as well.
  func value() async -> Value? {
    let (settled, position) = machine.withLock { ($0.value, $0.reserve()) }
    if let settled { return settled }
    return await withTaskCancellationHandler {
      await wait(at: position)
    } onCancel: {
      let waiter = machine.withLock { $0.leave(position) }
      machine.resuming { waiter?.resume(returning: nil) }
    }
  }

  /// Waits for the value, and ignores cancellation of the waiting task.
  func valueIgnoringCancellation() async -> Value {
    while true {
      // A reservation that is never left is resumed with a value, so there is no second round.
      if let value = await wait(at: machine.withLock { $0.reserve() }) { return value }
    }
  }

  private func wait(
    at position: OnceMachine<Value, Waiter>.PositionID
  ) async -> Value? {
    let value = await withUnsafeContinuation { (waiter: Waiter) in
      switch machine.withLock({ $0.wait(waiter, at: position) }) {
      case .suspend: break
      case .resume(let value): waiter.resume(returning: value)
      }
    }
    #if TSAN
      machine.waitForResumptions()
    #endif
    return value
  }
}

/// A value that is settled once: the first value wins, all waiters are resumed, and waiters may leave.
struct OnceMachine<Value, Waiter> {
  enum Position {
    /// Its task has reserved the position but is not suspended yet.
    case reserved
    case suspended(Waiter)

    var waiter: Waiter? {
      if case .suspended(let waiter) = self { waiter } else { nil }
    }
  }

  /// The waiters to resume; one alone needs no array.
  typealias Waiters = (first: Waiter?, others: [Waiter])

  enum WaitAction {
    case suspend
    case resume(Value?)
  }

  typealias PositionID = Int

  /// The positions by number.
  ///
  /// One of them is stored inline, because most values have at most one waiter.
  private struct Positions {
    var inline: (id: PositionID, position: Position)?
    var others: [PositionID: Position] = [:]

    subscript(id: PositionID) -> Position? {
      get { inline?.id == id ? inline?.position : others[id] }
      set {
        if inline?.id == id || (inline == nil && others[id] == nil) {
          inline = newValue.map { (id, $0) }
        } else {
          others[id] = newValue
        }
      }
    }

    /// The waiters in the order of their positions.
    var waiters: Waiters {
      if others.isEmpty { return (inline?.position.waiter, []) }
      var all = others
      if let inline { all[inline.id] = inline.position }
      return (nil, all.sorted { $0.key < $1.key }.compactMap(\.value.waiter))
    }
  }

  private(set) var value: Value?
  private var positions = Positions()
  private var lastID = 0

  /// Returns nil when the value was settled before.
  mutating func settle(_ value: Value) -> Waiters? {
    guard self.value == nil else { return nil }
    self.value = value
    return exchange(&positions, with: Positions()).waiters
  }

  /// Reserves a position, unless there is a value, before there is a continuation to resume; a cancelled task leaves it.
  mutating func reserve() -> PositionID {
    lastID += 1
    if value == nil { positions[lastID] = .reserved }
    return lastID
  }

  mutating func wait(_ waiter: Waiter, at id: PositionID) -> WaitAction {
    if value == nil, case .reserved = positions[id] {
      positions[id] = .suspended(waiter)
      return .suspend
    }
    positions[id] = nil
    return .resume(value)
  }

  /// Returns the waiter to resume without a value.
  mutating func leave(_ id: PositionID) -> Waiter? {
    defer { positions[id] = nil }
    return positions[id]?.waiter
  }
}
