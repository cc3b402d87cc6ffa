// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides when the task of a URLSession may be cancelled.
///
/// URLSession on Linux may crash when a task is cancelled while it is resumed, and traps when a task is cancelled that
/// waits for an answer of its delegate. Each such call holds the task.
struct TaskHold {
  private var holds = 0
  private(set) var isCancelled = false

  /// Starts a call; returns whether it may be made.
  mutating func hold() -> Bool {
    guard !isCancelled else { return false }
    holds += 1
    return true
  }

  /// Ends a call; returns whether to cancel the task now.
  mutating func release() -> Bool {
    holds -= 1
    return isCancelled && holds == 0
  }

  /// Returns whether to cancel the task now; otherwise the end of the last call does, or it was cancelled before.
  mutating func cancel() -> Bool {
    guard !isCancelled else { return false }
    isCancelled = true
    return holds == 0
  }
}
