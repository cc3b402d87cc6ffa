// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An update or an output with its type erased.
///
/// The parts of a launch have no generic parameters, so that launching a job needs no type metadata lookup.
typealias JobValue = any AnyObject & Sendable

/// Preserves values that are optionals or existentials.
final class JobBox<Value: Sendable>: Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }

  /// Returns the value in a box, whose type the caller knows.
  static func value(in box: JobValue) -> Value? { (box as? JobBox<Value>)?.value }
}
