// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that tests throw, identified by its number.
struct Fault: Error, Hashable {
  let number: Int

  init(_ number: Int = 0) {
    self.number = number
  }
}
