// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Counts what is in flight, such as the runs of a chain, or the calls of `step` in a run until that is closed.
///
/// The count is stored above four flags. What ends as the last one closes a counter that is to be closed, so that
/// nothing further can begin in between.
struct InFlightCounter: ~Copyable, Sendable {
  private static var closed: Int { 1 }
  private static var hasNoValue: Int { 2 }
  private static var hasWaiter: Int { 4 }
  private static var isClosing: Int { 8 }
  private static var one: Int { 16 }

  // Not under a lock: a run and each call of `step` count twice, and a lock takes 10 ns.
  private let state = Atomic(0)
  /// Settled when nothing is in flight; non-nil while there may be waiters.
  private let waiter = Lock<Once<Void>?>(nil)

  var count: Int { state.load(ordering: .acquiring) / Self.one }

  var isClosed: Bool { state.load(ordering: .acquiring) & Self.closed != 0 }

  /// Whether it was closed with an error, or abandoned.
  var hasEndedWithoutValue: Bool {
    let end = Self.closed | Self.hasNoValue
    return state.load(ordering: .acquiring) & end == end
  }

  /// Counts what is about to begin; returns false when it may not begin any more.
  @discardableResult
  func begin() -> Bool {
    guard state.add(Self.one, ordering: .acquiringAndReleasing).oldValue & Self.closed != 0 else { return true }
    end()
    return false
  }

  func end() {
    let left = state.subtract(Self.one, ordering: .acquiringAndReleasing).newValue
    if left & Self.hasWaiter != 0, left < Self.one { settleIfIdle() }
  }

  /// Returns what is settled when nothing is in flight.
  func drain() -> Once<Void> {
    let drained = waiter.withLock { $0.stored(or: Once()) }
    state.bitwiseOr(Self.hasWaiter, ordering: .acquiringAndReleasing)
    settleIfIdle()
    return drained
  }

  /// Closes a counter that is to be closed, and resumes the waiters, unless something is in flight.
  @inline(never)
  private func settleIfIdle() {
    // All inside the lock: what waits from then on has another waiter, since something may have begun.
    waiter.withLock { waiter -> Once<Void>? in
      var old = state.load(ordering: .acquiring)
      while old & Self.hasWaiter != 0, old < Self.one {
        let idle = old & ~Self.hasWaiter
        let new = old & Self.isClosing == 0 ? idle : idle | Self.closed
        let (isIdle, found) = state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
        if isIdle { return waiter.take() }
        old = found
      }
      return nil
    }?.settle(())
  }

  /// Lets nothing further begin, unless something is in flight; returns whether it did.
  func closeIfIdle(hasValue: Bool) -> Bool {
    let closed = Self.closed | (hasValue ? 0 : Self.hasNoValue)
    return state.compareExchange(expected: 0, desired: closed, ordering: .acquiringAndReleasing).exchanged
  }

  /// Waits until nothing is in flight, and then lets nothing begin any more.
  func close(hasValue: Bool) async {
    if closeIfIdle(hasValue: hasValue) { return }
    state.bitwiseOr(Self.isClosing | (hasValue ? 0 : Self.hasNoValue), ordering: .acquiringAndReleasing)
    await drain().valueIgnoringCancellation()
  }

  /// Lets nothing further begin, without waiting for what is in flight.
  func abandon() { state.bitwiseOr(Self.closed | Self.hasNoValue, ordering: .acquiringAndReleasing) }
}

/// Counts the runs that begin under a task-local value.
///
/// A run begins and ends in tasks with the same task-local values.
final class RunsBegun: Sendable {
  @TaskLocal static var current: RunsBegun?
  /// Whether the process uses any; otherwise no run looks for the task-local value, which takes 8 ns twice a run.
  private static let isUsed = Atomic(false)

  /// The runs around these, which they belong to as well.
  private let outer: RunsBegun?
  let counter = InFlightCounter()

  init(in outer: RunsBegun?) {
    self.outer = outer
    Self.isUsed.store(true, ordering: .releasing)
  }

  static func forEach(_ body: (borrowing InFlightCounter) -> Void) {
    guard isUsed.load(ordering: .acquiring), let current else { return }
    for runs in sequence(first: current, next: \.outer) { body(runs.counter) }
  }
}
