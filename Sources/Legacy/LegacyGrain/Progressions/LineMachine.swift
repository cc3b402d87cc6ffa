// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides which progressions of a production line start.
struct LineMachine<Element> {
  private let limit: Int
  private var activeCount = 0
  private var pending: [Element] = []
  /// How many of `pending` have been taken.
  private var taken = 0
  private var isSuspended = false

  init(limit: Int) {
    self.limit = max(1, limit)
  }

  /// Returns the elements that start now.
  mutating func add(_ elements: [Element]) -> ArraySlice<Element> {
    pending += elements
    return take()
  }

  /// One has completed.
  mutating func complete() -> ArraySlice<Element> {
    activeCount -= 1
    return take()
  }

  mutating func suspend() { isSuspended = true }

  mutating func resume() -> ArraySlice<Element> {
    isSuspended = false
    return take()
  }

  /// Returns the elements that will not start.
  mutating func clearPending() -> ArraySlice<Element> {
    defer { (pending, taken) = ([], 0) }
    return pending[taken...]
  }

  private mutating func take() -> ArraySlice<Element> {
    guard !isSuspended else { return [] }
    let end = min(pending.count, taken + max(0, limit - activeCount))
    let next = pending[taken..<end]
    (activeCount, taken) = (activeCount + next.count, end)
    if taken > pending.count / 2 {
      pending.removeFirst(taken)
      taken = 0
    }
    return next
  }
}
