// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Something that was handed over, by a value that is no longer used where it came from.
///
/// Old code says of nothing whether it is `Sendable`. What a chain is given, and what a step gives to the next, is `sending`
/// in the old spellings, so that Swift 6 reports whoever goes on using it.
// Proof: what is inside was sent here, and one step, one handler or one closure at a time has it.
final class Sent<Value>: AnySent, @unchecked Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }

  var erased: Any { value }
}

/// A `Sent` without its type.
protocol AnySent: Sendable {
  var erased: Any { get }
}
