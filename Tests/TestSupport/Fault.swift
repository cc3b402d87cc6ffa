// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that tests throw, identified by its number.
package struct Fault: Error, Hashable {
  package let number: Int

  package init(_ number: Int = 0) {
    self.number = number
  }
}
