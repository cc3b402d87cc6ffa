// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that was handed over, by a value that is no longer used where it came from.
///
/// Old code says of nothing whether it is `Sendable`. The closures that it hands over are `sending` in the old spellings, so
/// that Swift 6 reports whoever goes on using what they hold.
// Proof: what is inside was sent here, and one stage, one closure or one waiting function at a time has it.
struct Sent<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
