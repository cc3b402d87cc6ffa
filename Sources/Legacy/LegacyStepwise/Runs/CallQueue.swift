// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides which call of a closure runs: one at a time, in the order of arrival.
struct CallQueue<Call> {
  private var isRunning = false
  /// In reverse order.
  private var next: [Call] = []
  private var later: [Call] = []

  /// Returns the call if it runs now; otherwise it waits.
  mutating func arrive(_ call: Call) -> Call? {
    guard isRunning else {
      isRunning = true
      return call
    }
    later.append(call)
    return nil
  }

  /// Returns the call that runs next, after the running one has returned.
  mutating func finish() -> Call? {
    if next.isEmpty {
      next = later.reversed()
      later = []
    }
    guard let call = next.popLast() else {
      isRunning = false
      return nil
    }
    return call
  }
}
