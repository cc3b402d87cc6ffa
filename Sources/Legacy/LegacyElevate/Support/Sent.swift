// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that was handed over, by a value that is no longer used where it came from.
///
/// Old code says of nothing whether it is `Sendable`. What a block returns or yields is `sending` in the old spellings, so
/// that Swift 6 reports whoever goes on using it.
// Proof: what is inside was sent here, and one block at a time has it.
struct Sent<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }
}
