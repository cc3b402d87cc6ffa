// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// When the task of a URLSession may be cancelled.
///
/// URLSession on Linux may crash when a task is cancelled while it is resumed, and traps when one is cancelled that waits
/// for an answer of its delegate, which then comes. Each such call holds the task.
struct TaskHold {
  private var holds = 0
  private(set) var isCancelled = false

  /// Begins a call; returns whether it may be made.
  mutating func hold() -> Bool {
    guard !isCancelled else { return false }
    holds += 1
    return true
  }

  /// Ends a call; returns whether the task is to be cancelled now.
  mutating func release() -> Bool {
    holds -= 1
    return isCancelled && holds == 0
  }

  /// Returns whether the task is to be cancelled now; otherwise the last call's end says so, or it was cancelled before.
  mutating func cancel() -> Bool {
    guard !isCancelled else { return false }
    isCancelled = true
    return holds == 0
  }
}
