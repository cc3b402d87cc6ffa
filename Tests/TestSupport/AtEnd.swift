// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An object that does something when it is released.
package final class AtEnd: Sendable {
  private let action: @Sendable () -> Void

  package init(_ action: @escaping @Sendable () -> Void) {
    self.action = action
  }

  deinit { action() }
}
