// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

/// A value on its way from step to step, without its type.
protocol Carried: Sendable {
  var erased: Any { get }
}

extension Sent: Carried {
  var erased: Any { value }
}

extension Carried {
  /// Returns the value.
  ///
  /// - Throws: ``WrongOutput``, which only the end of a chain can, after a step chose another chain.
  func open<Value>(as type: Value.Type = Value.self) throws -> Value {
    guard let sent = self as? Sent<Value> else {
      throw WrongOutput(expected: "\(type)", found: "\(Swift.type(of: erased))")
    }
    return sent.value
  }
}

/// A chain that a step chose to continue with ended with another type than the chain it was chosen in.
struct WrongOutput: Error, CustomStringConvertible {
  let expected: String
  let found: String

  var description: String {
    "a step continued with a chain whose output is \(found), in a chain whose output is \(expected)"
  }
}
