// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Blocks threads until it is opened: for handlers that are to be found running.
final class Latch: Sendable {
  private let condition = NSCondition()
  private let isOpen = Flag()

  func open() {
    condition.withLock {
      isOpen.raise()
      condition.broadcast()
    }
  }

  /// Blocks the calling thread, so it is not for code that runs in a Task.
  func wait() {
    condition.withLock {
      while !isOpen.isRaised { condition.wait() }
    }
  }
}
