// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A value that was transferred, and is no longer used where it came from.
///
/// Old code does not declare what is `Sendable`. What it transfers, a closure, an input, an output or a result, is
/// `sending` in the old spellings, so that Swift 6 reports code that continues to use it, or what it holds.
// Safety: the value was transferred here, and one step, stage or waiting function at a time uses it; for the closures of
// a chain that is started again before it has ended, the caller of `start` vouches for them.
package struct Sent<Value>: @unchecked Sendable {
  /// The transferred value.
  package let value: Value

  /// Creates the wrapper of a transferred value.
  package init(_ value: Value) {
    self.value = value
  }
}
