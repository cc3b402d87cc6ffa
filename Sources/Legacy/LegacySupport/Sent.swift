// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that was handed over, by a value that is no longer used where it came from.
///
/// Old code says of nothing whether it is `Sendable`. What it hands over, a closure, an input, an output or a result, is
/// `sending` in the old spellings, so that Swift 6 reports code that continues to use it, or what it holds.
// Safety: what is inside was sent here, and one step, stage, block, closure or waiting function at a time has it.
package struct Sent<Value>: @unchecked Sendable {
  /// What was handed over.
  package let value: Value

  /// Takes something over.
  package init(_ value: Value) {
    self.value = value
  }
}
