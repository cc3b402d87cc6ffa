// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyElevate
import Stepwise

@available(*, deprecated)
extension ElevateTask {
  /// Waits for the task's end, handlers included, and tells whether that was a cancel.
  @discardableResult
  func ended() async -> Bool {
    if case .cancelled = await modern.outcome { true } else { false }
  }
}
