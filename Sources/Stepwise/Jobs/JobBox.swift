// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An update or an output without its type.
///
/// What a launch is made of knows no types, so that launching a job looks none up.
typealias JobValue = any AnyObject & Sendable

/// Keeps values that are optionals or existentials as they are.
final class JobBox<Value: Sendable>: Sendable {
  let value: Value

  init(_ value: Value) {
    self.value = value
  }

  /// What a box holds, whose type the caller knows.
  static func value(in box: JobValue) -> Value? { (box as? JobBox<Value>)?.value }
}
